// Generated from src/bough/interfaces/web/shapes.py by scripts/web: change it there.

export interface Run {
  activity: Record<string, TaskActivity>;
  answered: GivenAnswer[];
  applied: boolean;
  changed: boolean;
  doing: Doing | null;
  done: number;
  exit_status: number | null;
  given_up: number;
  goal: string;
  holder: string | null;
  last_at: number;
  leaves: number;
  limits: Limits;
  missing: string;
  models: Record<string, string>;
  next: NextStep[];
  now: number;
  progress: number;
  project: string;
  report: string;
  run: string;
  seconds: number;
  seq: number;
  spend: Spend;
  started_at: number;
  status: string;
  summary: string;
  tasks: number;
  title: string;
  until: number;
  waiting: Waiting[];
  words: string;
}

export interface TaskActivity {
  what: string;
  since: number;
  line: string;
}

export interface GivenAnswer {
  kind: "command" | "plan" | "question" | "tests";
  task: string;
  question: string;
  says: string;
  by: string;
  at: number;
  id: string;
}

export interface Doing {
  at: number;
  doing: string;
  line: string;
  others: number;
  task: string;
  title: string;
}

export interface Limits {
  rounds: number;
  tokens: number | null;
  cost: number | null;
  minutes: number | null;
}

export interface NextStep {
  command: string;
  why: string;
}

export interface Spend {
  rounds: number;
  tokens_in: number;
  tokens_out: number;
  tokens_cached: number;
  cost: number;
  unpriced: number;
  seconds: number;
  check_seconds: number;
  estimated: number;
}

export interface Waiting {
  at: number;
  id: string;
  kind: "command" | "plan" | "question" | "tests";
  plan?: string;
  question: string;
  steps?: PlanStep[];
  task: string;
  tests: Disagreement[];
  title: string;
  until: number;
}

export interface PlanStep {
  check: string;
  files: string[];
  name: string;
  needs: string[];
  says: string;
  steps: PlanStep[];
  title: string;
}

export interface Disagreement {
  test: string;
  path: string;
  was: string;
  now: string;
  said: string;
  asked: boolean;
  own: boolean;
  source: string;
}

export interface TreePart {
  next: number | null;
  order?: string[];
  seq: number;
  tasks: Line[];
}

export interface Line {
  about: string;
  acted: string;
  acted_at: number;
  attempt: number;
  check: LineCheck | null;
  cost: [number, number];
  depth: number;
  doing: string;
  files: number;
  halted: string;
  last_at: number;
  leaf: boolean;
  name: string;
  needs: string[];
  parent: string | null;
  path: string;
  role: string;
  rounds: [number, number, number];
  started_at: number;
  state: string;
  stuck: string;
  title: string;
  tokens: [number, number];
  unpriced: number;
  why: string;
  words: string;
  worker: string;
}

export interface LineCheck {
  failed: number;
  passed: number;
  ruling: string;
}

export interface Charts {
  branches: string[];
  burn: [number, [number, number, number][]][];
  from: number;
  lanes: Lane[];
  limits: Limits;
  seq: number;
  tests: [number, string, string, number, number][];
  to: number;
  total: number;
  work: string[];
}

export interface Lane {
  depth: number;
  name: string;
  path: string;
  spans: [number, number, number, string, number, number][];
}

export interface TaskPage {
  children: Line[];
  line: Line;
  report: string;
  rounds: number;
  seq: number;
  verdict: Verdict | null;
}

export interface Verdict {
  ruling: "failed" | "needs_approval" | "not_verified" | "passed";
  reason: string;
  command: string;
  found: string;
  exit_status: number | null;
  seconds: number;
  output: string;
  blob: string;
  tree: string;
  how: "closing line" | "exit status" | "junit";
  passed: number;
  failed: number;
  skipped: number;
  cases: string;
  failures: Failure[];
  flaky: string[];
  changed: string[];
  disagreements: Disagreement[];
  mended: string[];
  added: string[];
  advice: Remark[];
  canary: string;
  doubt: string;
}

export interface Failure {
  id: string;
  kind: "flaky" | "new" | "pre-existing" | "regression";
  text: string;
}

export interface Remark {
  path: string;
  line: number;
  what: string;
}

export interface Rounds {
  events: Happening[];
  from: number;
  seq: number;
  total: number;
}

export interface Happening {
  at: number;
  cut?: Record<string, number>;
  event: Record<string, any>;
  kind: string;
  seq: number;
  style: string;
  task: string;
  version: number;
  words: string;
}

export interface EventPart {
  events: Happening[];
  next: number | null;
}

export interface Match {
  at: number;
  excerpt: string;
  round: number;
  seq: number;
  words: string;
}

export interface Table {
  rows: Evidence[];
  notes: string[];
  background: string[];
  accepted: string;
  needless: NeedlessFound | null;
}

export interface Evidence {
  requirement: Requirement;
  standing: "dropped" | "not shown" | "nothing to run" | "proven" | "refuted" | "superseded" | "tested only by its author";
  proofs: Proof[];
  probes: ShownCase[];
  shown: RequirementProof | null;
  read: string[];
}

export interface Requirement {
  number: number;
  text: string;
  start: number;
  end: number;
  step: string;
  within: string;
  kind: "background" | "behaviour" | "coverage" | "document" | "restructure" | "speed" | "unchanged" | "upgrade";
  source: string;
  superseded: number;
  dropped: string;
}

export interface Proof {
  task: string;
  state: "pending" | "in_progress" | "testing" | "test_failed" | "completed" | "blocked" | "decomposed" | "skipped" | "failed" | "cancelled";
  verdict: Verdict | null;
  commit: string;
  files: string[];
  examined: string;
  tests: string[];
}

export interface ShownCase {
  name: string;
  says: string;
  outcome: string;
  path: string;
  before: string;
  why: string;
  repaired: boolean;
}

export interface RequirementProof {
  number: number;
  how: "author" | "check" | "coverage" | "document" | "probe" | "restructure" | "speed" | "tests" | "unchanged" | "upgrade";
  by: string[];
}

export interface NeedlessFound {
  tree: string;
  needless: ChangePart[];
  undecided: ChangePart[];
  needed: ChangePart[];
  tests: string[];
  checks: number;
  limit: number;
}

export interface ChangePart {
  path: string;
  first: number;
  last: number;
  by: string[];
  why: string;
}

export interface Rung {
  after?: number;
  answer?: string;
  at: number;
  came: string;
  evidence: string[];
  helped: boolean | null;
  level: string;
  reason: string;
  rung: string;
  says: string;
  seq: number;
  stuck: string;
  task: string;
  tried: string;
}

export interface File {
  added: number;
  binary: boolean;
  kind: string;
  name: string;
  removed: number;
}

export interface DiffPart {
  from: number;
  rows: any[];
  total: number;
}

export interface Point {
  at: number;
  tree: string;
  has_steps: boolean;
  words: string;
}

export interface Statistics {
  runs: number;
  stats: Stats;
  warnings: string[];
  words: Record<string, string>;
}

export interface Stats {
  tasks: number;
  completed: number;
  rounds: number;
  repairs: number;
  repaired: number;
  checks: number;
  checks_not_found: number;
  disagreed: number;
  flaky: number;
  seconds: number;
  check_seconds: number;
  signals: Record<string, number>;
  rungs: Record<string, number>;
  pruned: number;
  compacted: number;
  overfull: number;
  tiers: Record<string, Share>;
  merges: number;
  conflicts: number;
  merged_without_model: number;
  merge_rounds: number;
  merge_tokens: number;
  merge_cost: number;
  merge_seconds: number;
  tokens_by_role: Record<string, number>;
  deepest: number;
}

export interface Share {
  rounds: number;
  tokens: number;
  cost: number;
  won: number;
}

export interface Change {
  order?: string[];
  run: Run;
  seq: number;
  tasks: Line[];
}

export interface Home {
  beside: number | null;
  projects: Project[];
}

export interface Project {
  branch: string;
  error?: string;
  nights: Night[];
  project: string;
  root: string;
  runs: Run[];
  total: number;
  wishes: Record<string, string>;
}

export interface Night {
  began: boolean;
  branch: string;
  groups: GoalGroup[];
  left_out: number;
  list: string;
  open: boolean;
  proposed: Record<string, string>;
  spent: string[];
  title: string;
  trouble: string;
  working: boolean;
}

export interface GoalGroup {
  goals: Goal[];
  heading: string;
}

export interface Goal {
  address: string;
  applied: boolean;
  conflicts: Record<string, string[]>;
  kind: string;
  name: string;
  run: string;
  title: string;
  words: string[];
}

export interface Choices {
  backlog: BacklogSettings;
  check: string;
  limits: Limits;
  model: string;
  models: string[];
}

export interface BacklogSettings {
  jobs: number;
  per_goal: number | null;
  pr: "draft" | "none";
  max_disk: number | null;
}

export interface GoalEntry {
  goal: string;
  check: string;
  needs: string[];
  priority: number;
  labels: string[];
  files: string[];
  rounds: number | null;
  tokens: number | null;
  cost: number | null;
  minutes: number | null;
  source: string;
}

export const WORDS: Record<string, string> = {
  accepted: "accepted without proof",
  blocked: "blocked",
  budget: "budget spent",
  cancelled: "cancelled",
  completed: "completed",
  decomposed: "decomposed",
  environment: "the check cannot run here",
  failed: "failed",
  in_progress: "in progress",
  interrupted: "interrupted",
  needs_approval: "waiting for your approval",
  not_proven: "finished, not proven",
  paused: "paused",
  pending: "pending",
  quota: "quota exhausted",
  running: "running",
  skipped: "skipped",
  stopped: "stopped",
  test_failed: "test failed",
  testing: "testing",
  unavailable: "model unavailable",
  waiting: "waiting for your answer",
};
