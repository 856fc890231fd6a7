// The interface is fixed; this file is only compiled, strictly.
import { hasEnded, inputFile, Mayfly, MayflyError, type ListOptions, type Task, type TaskEvent, type TaskPage,
  type TaskRequest, type TaskResult, type TaskRow } from "mayfly-client";

interface Fixed {
  submit(request: {
    language: "python";
    code: string;
    files?: { name: string; content: string }[];
    limits?: { timeoutMs?: number; memoryMb?: number };
    policy?: { network: "disabled"; packages: "base" };
  }): Promise<{ taskId: string }>;
  get(taskId: string): Promise<{
    taskId: string;
    status: "queued" | "running" | "succeeded" | "failed" | "timed_out" | "cancelled";
    stdout: string;
    stderr: string;
    exitCode?: number | null;
    artifacts: { artifactId: string; path: string; sizeBytes: number; sha256: string; mimeType: string; url: string }[];
    usage?: { durationMs: number; memoryMb?: number | null } | null;
  }>;
  cancel(taskId: string): Promise<void>;
}

export const client: Fixed = new Mayfly({ baseUrl: "http://127.0.0.1:9000" });
export const withFetch = new Mayfly({ baseUrl: "http://127.0.0.1:9000", apiKey: "k", fetch, retries: 0 });

export async function use(mayfly: Mayfly, request: TaskRequest, signal: AbortSignal): Promise<TaskResult> {
  const task: Task = await mayfly.submit({ ...request, files: [inputFile("a.csv", "x")] }, { idempotencyKey: "k", signal });
  for await (const event of mayfly.events(task.taskId, { after: "", signal })) tell(event);
  const options: ListOptions = { limit: 1, status: "failed", signal };
  const page: TaskPage = await mayfly.list(options);
  const row: TaskRow | undefined = page.data[0];
  await mayfly.delete(row?.taskId ?? "", { signal });
  const result = await mayfly.wait(task.taskId, { signal });
  const fuel: number | undefined = result.usage?.fuel;
  if (fuel !== undefined && fuel > 1e9) return result;
  const bytes: Uint8Array[] = await Promise.all(result.artifacts.map((a) => mayfly.download(a, { signal })));
  return hasEnded(result) && bytes.length > 0 ? result : mayfly.run(request);
}

function tell(event: TaskEvent): string {
  switch (event.type) {
    case "stdout":
    case "stderr":
      return event.text;
    case "artifact":
      return event.artifact.sha256;
    case "status":
      return event.task.status;
  }
}

/** What `list` tells of a task. */
export function tellRow(row: TaskRow): string {
  const bytes: number = row.inputBytes + row.artifactBytes;
  const place: number | undefined = row.queuePosition;
  const times: (string | null)[] = [row.createdAt, row.startedAt, row.finishedAt, row.expiresAt];
  return hasEnded(row) ? `${bytes} ${times}` : `${row.status} ${place}`;
}

// @ts-expect-error a row has no artifacts: they come with `get`
export const artifactsOf = (row: TaskRow) => row.artifacts;
// @ts-expect-error nor is it a task
export const taskOf = (page: TaskPage): Task | undefined => page.data[0];

export const isBusy = (e: unknown): boolean => e instanceof MayflyError && e.status === 429 && (e.retryAfter ?? 0) > 0;

export const named: TaskRequest = { language: "python", code: "", source_name: "sums.py" };
// @ts-expect-error only Python
export const wrong: TaskRequest = { language: "ruby", code: "" };
// @ts-expect-error a mistyped limit
export const mistyped: TaskRequest = { language: "python", code: "", limits: { timeout: 5 } };
