// Says where the page's stations put records; the Go test compares that with their passports. Each
// line that comes in is an event, or a record asked for after the events before it.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const modules = pathToFileURL(process.argv[2]).href;
const { apply, create } = await import(`${modules}/model/state.js`);
const { sceneOf } = await import(`${modules}/layout/scene.js`);
const { whereabouts, whyNotYet } = await import(`${modules}/layout/where.js`);

const state = create();
for await (const text of createInterface({ input: process.stdin })) {
  const line = JSON.parse(text);
  if (line.event) {
    apply(state, line);
    continue;
  }
  const scene = sceneOf(state, line);
  const end = whereabouts(scene, line).find(({ id }) => id === 'committed' || id === 'topic');
  console.log(JSON.stringify({ ...end, caption: whyNotYet(scene, line) }));
}
