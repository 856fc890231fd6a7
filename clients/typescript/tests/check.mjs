// A line of JSON for each check, {"check", "problems"}; tests/clients/typescript.py makes TAP of them.
export async function check(name, work) {
  let problems = [];
  try {
    await work();
  } catch (e) {
    problems = [`${e?.name}: ${e?.message}`, ...(e?.stack ?? "").split("\n").slice(1, 4)];
  }
  process.stdout.write(JSON.stringify({ check: name, problems }) + "\n");
}

/** What it rejects with; it must. */
export async function rejection(promise) {
  try {
    await promise;
  } catch (e) {
    return e;
  }
  throw new Error("it did not fail");
}

export async function all(iterator) {
  const items = [];
  for await (const item of iterator) items.push(item);
  return items;
}
