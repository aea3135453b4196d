// One question and its answer. The token stays after `#`: it is sent as a header, to this server alone.
const at = (id) => document.getElementById(id);
const token = window.location.hash.slice(1);

async function ask(method, body) {
  const answer = await fetch("./api/question", { method, body, headers: { "x-bough-question": token } });
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.error);
  return said;
}

function show(asked) {
  at("run").textContent = `${asked.run} asks you`;
  at("goal").textContent = asked.goal;
  at("question").textContent = asked.question;
  at("command").textContent = asked.command;
  at("said").textContent = asked.said;
  at("form").hidden = !asked.open;
  at("answers").replaceChildren(
    ...asked.answers.map((word) => {
      const button = document.createElement("button");
      button.type = "button";
      button.dataset.action = "link-suggested";
      button.textContent = word;
      button.onclick = () => send(word);
      return button;
    }),
  );
}

async function send(text) {
  at("form").hidden = true;
  at("said").textContent = "Sending…";
  try {
    at("said").textContent = (await ask("POST", JSON.stringify({ answer: text }))).said;
  } catch (error) {
    at("said").textContent = error.message;
    at("form").hidden = !(error instanceof TypeError); // Nobody was reached: what was typed is still there.
  }
}

at("form").onsubmit = (event) => {
  event.preventDefault();
  void send(at("text").value);
};
ask("GET").then(show, (error) => {
  at("said").textContent = error.message;
});
