// Folds the events on standard input as a browser does, and answers one line of JSON for each
// command: {"at": n} wants the state after event n, {"event": …} is an event of the trace. The
// first argument is the folder of the page's modules.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const folder = pathToFileURL(process.argv[2] + "/").href;
const { create, apply, toJSON } = await import(folder + "model/state.js");
const { createFilm } = await import(folder + "model/film.js");

const state = create();
const film = createFilm({ every: 300, keep: 1e6, keyframes: 1e6 });
for await (const line of createInterface({ input: process.stdin })) {
  const said = JSON.parse(line);
  if (said.at !== undefined) {
    const shown = said.at === Number(state.seq) ? toJSON(state) : film.stateAt(said.at);
    console.log(JSON.stringify(shown));
    continue;
  }
  film.add([structuredClone(said.event)]);
  apply(state, said.event);
}
