/** What is on the wire. Names are those of the API; `docs/tasks.md` of Mayfly tells of each. */

export type TaskStatus = "queued" | "running" | "succeeded" | "failed" | "timed_out" | "cancelled";

/** Why a task ended as it did. A newer server may know more reasons. */
export type TaskReason =
  | "exit" | "exception" | "signal" | "wall_time" | "cpu" | "fuel" | "memory" | "output" | "pids" | "disk"
  | "cancelled" | "worker_crash" | "unavailable" | "interrupted" | (string & {});

/** An input. `content` is base64 when it is a string (see `inputFile`); bytes and blobs are uploaded as they are. */
export interface TaskFile {
  name: string;
  content: string | Uint8Array | Blob;
}

export interface TaskRequest {
  language: "python";
  code: string;
  files?: TaskFile[];
  /** `timeoutMs`: 1 to 60000, default 60000. `memoryMb`: default 1024. */
  limits?: { timeoutMs?: number; memoryMb?: number };
  policy?: { network?: "disabled"; packages?: "base" };
  /** The value of a last expression is printed, as a notebook does it. */
  display_last_expression?: boolean;
  /** What tracebacks call the code, a file name; default `main.py`. */
  source_name?: string;
}

export interface Artifact {
  artifactId: string;
  /** Where the program put it, below its working directory. Chosen by the program: do not use it as a path unchecked. */
  path: string;
  sizeBytes: number;
  sha256: string;
  mimeType: string;
  /** Path on the server; `download` fetches it. */
  url: string;
}

export interface RejectedArtifact {
  path: string;
  reason: string;
}

export interface TaskInput {
  name: string;
  sizeBytes: number;
  sha256: string;
  /** Hints for files like CSV, null for others. */
  encodingGuess: string | null;
  delimiter: string | null;
  bom: boolean | null;
}

export interface TaskUsage {
  durationMs: number;
  cpuMs?: number | null;
  memoryMb?: number | null;
  /** Instructions that were executed, where the server's provider counts them. */
  fuel?: number;
}

/** A task without its output. Times are ISO 8601 in UTC. */
export interface Task {
  taskId: string;
  status: TaskStatus;
  /** While it is queued; 1 is next. */
  queuePosition?: number;
  reason: TaskReason | null;
  exitCode: number | null;
  signal: number | null;
  truncated: { stdout: boolean; stderr: boolean };
  artifacts: Artifact[];
  rejectedArtifacts: RejectedArtifact[];
  /** What the sandbox refused, in words. */
  denied: string[];
  inputs: TaskInput[];
  usage: TaskUsage | null;
  /** What really held the program. */
  receipt: Record<string, unknown> | null;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
  /** When inputs, artifacts and the result are deleted. */
  expiresAt: string | null;
}

/** A task with its output: what there is so far, or all of it after the end. */
export interface TaskResult extends Task {
  stdout: string;
  stderr: string;
}

/** What a list tells of a task; `get` has the rest. */
export interface TaskRow {
  taskId: string;
  status: TaskStatus;
  /** While it is queued; 1 is next. */
  queuePosition?: number;
  /** Of all its files together. */
  inputBytes: number;
  artifactBytes: number;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
  expiresAt: string | null;
}

export interface TaskPage {
  /** Newest first. */
  data: TaskRow[];
  first_id: string | null;
  last_id: string | null;
  has_more: boolean;
}

/** `id` is what `events(taskId, { after: id })` goes on behind. The last event is the status of the end. */
export type TaskEvent =
  | { type: "stdout" | "stderr"; id: string; text: string }
  | { type: "artifact"; id: string; artifact: Artifact }
  | { type: "status"; id: string; task: TaskStatusChange };

export interface TaskStatusChange {
  taskId: string;
  status: TaskStatus;
  queuePosition?: number;
  reason?: TaskReason | null;
  exitCode?: number | null;
}

export function hasEnded(task: { status: TaskStatus }): boolean {
  return task.status !== "queued" && task.status !== "running";
}
