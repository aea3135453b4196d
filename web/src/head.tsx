import { useEffect, useState } from "preact/hooks";
import { get, Home, Project } from "./api";
import { Icon, link } from "./parts";

// The repository whose pages are shown, and the way between them. Whoever has read the projects tells it.

let known: Project[] = [];
let show = (_: Project[]): void => undefined;

export function tellProjects(projects: Project[]): void {
  const same = (each: Project, n: number) => each.project === known[n]?.project && each.branch === known[n]?.branch;
  if (projects.length === known.length && projects.every(same)) return;
  known = projects;
  show(known);
}

export function Head({ screen, of }: { screen: string; of: string }) {
  const [projects, setProjects] = useState(known);
  useEffect(() => {
    show = setProjects;
    setProjects(known);
    if (known.length || !screen) return undefined;
    // The page itself comes first.
    const timer = window.setTimeout(
      () =>
        void get<Home>("/api/runs?limit=1").then(
          (home) => tellProjects(home.projects),
          () => undefined,
        ),
      700,
    );
    return () => window.clearTimeout(timer);
  }, [screen]);
  const project = projects.find((each) => each.project === of) ?? (projects.length === 1 ? projects[0] : undefined);
  if (!project) return null;
  const here = (name: string) => (screen === name ? "page" : undefined);
  return (
    <>
      <span class="repository" title={project.root}>
        <b>{project.root.split("/").pop()}</b>
        {project.branch && (
          <span class="dim">
            {" "}
            <Icon name="branch" /> {project.branch}
          </span>
        )}
      </span>
      <nav class="places" aria-label="Pages">
        <a href="#/" aria-current={here("")}>
          <Icon name="dot" /> Runs
        </a>
        <a href={link("backlog", project.project)} aria-current={here("backlog")}>
          <Icon name="moon" /> Backlog
        </a>
        <a class="only-phone" href={link("new", project.project)} aria-current={here("new")}>
          <Icon name="plus" /> Goal
        </a>
        <a href={link("stats", project.project)} aria-current={here("stats")}>
          <Icon name="bars" /> Statistics
        </a>
      </nav>
    </>
  );
}
