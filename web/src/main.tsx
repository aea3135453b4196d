import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { exported, start } from "./api";
import { Icon } from "./parts";
import { Compare } from "./compare";
import { RunPage } from "./run";
import { Head } from "./head";
import { Backlog, Home } from "./home";
import { NewRun } from "./new";
import { canNotify, lookWhileHidden } from "./signal";
import { Stats } from "./stats";
import { TaskPage } from "./task";

function where(): string[] {
  const hash = window.location.hash || start;
  return hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decodeURIComponent);
}

const THEMES = ["system", "light", "dark"];

function App() {
  const [place, setPlace] = useState(where());
  const [theme, setTheme] = useState(() => {
    try {
      return window.localStorage.getItem("bough-theme") ?? "system";
    } catch {
      return "system";
    }
  });
  useEffect(() => {
    const moved = () => {
      setPlace(where());
      window.scrollTo(0, 0);
    };
    window.addEventListener("hashchange", moved);
    setPlace(where()); // It may have moved before anyone listened.
    return () => window.removeEventListener("hashchange", moved);
  }, []);
  useEffect(() => {
    if (theme === "system") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.setAttribute("data-theme", theme);
    try {
      window.localStorage.setItem("bough-theme", theme);
    } catch {
      /* a file has no storage in some browsers */
    }
  }, [theme]);
  const [screen, ...rest] = place;
  useEffect(() => {
    document.title = screen ? `${screen} · bough` : "bough";
  }, [place.join("/")]);
  const [bell, setBell] = useState(canNotify() ? Notification.permission : "denied");
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  return (
    <>
      <a
        data-action="skip"
        class="skip"
        href="#content"
        onClick={(event) => {
          event.preventDefault();
          document.querySelector<HTMLElement>("#content")?.focus();
        }}
      >
        Skip to the content
      </a>
      <header class="site">
        {exported ? (
          <strong>bough</strong>
        ) : (
          <a href="#/">
            <Icon name="branch" /> <strong class="wide-only">bough</strong>
          </a>
        )}
        {!exported && <Head screen={screen ?? ""} of={rest[0] ?? ""} />}
        <span class="push" />
        {!exported && bell === "default" && (
          <button
            data-action="notify"
            type="button"
            class="quiet"
            onClick={() => void Notification.requestPermission().then(setBell)}
          >
            <Icon name="bell" /> <span class="wide-only">Notify me</span>
          </button>
        )}
        <button
          data-action="colours"
          type="button"
          class="quiet"
          aria-label={`Colours: ${theme}. Change to ${next}.`}
          onClick={() => setTheme(next)}
        >
          <Icon name="contrast" /> <span class="wide-only">Colours: {theme}</span>
        </button>
      </header>
      <div id="content" tabIndex={-1}>
        {screen === "run" && rest[1] ? (
          <RunPage key={rest[1]} project={rest[0]} name={rest[1]} tab={rest[2] ?? ""} more={rest[3] ?? ""} />
        ) : screen === "task" && rest[2] ? (
          <TaskPage
            key={rest[1]}
            project={rest[0]}
            name={rest[1]}
            path={rest[2]}
            tab={rest[3] ?? "talk"}
            round={Number(rest[4]) || 0}
          />
        ) : screen === "compare" && rest[0] ? (
          <Compare project={rest[0]} one={rest[1] ?? ""} other={rest[2] ?? ""} />
        ) : screen === "stats" && rest[0] ? (
          <Stats project={rest[0]} />
        ) : screen === "backlog" && rest[0] ? (
          <Backlog key={rest[0]} project={rest[0]} />
        ) : screen === "new" && rest[0] ? (
          <NewRun key={rest[1]} project={rest[0]} follows={rest[1] ?? ""} />
        ) : (
          <Home />
        )}
      </div>
    </>
  );
}

if (!exported) lookWhileHidden();
render(<App />, (document.getElementById("app")!.replaceChildren(), document.getElementById("app")!));
