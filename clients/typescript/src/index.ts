/** The client of Mayfly's task API. */
export { Mayfly, type CallOptions, type ListOptions, type SubmitOptions } from "./client.js";
export { MayflyError } from "./error.js";
export { inputFile } from "./body.js";
export { hasEnded } from "./types.js";
export type { Fetch, MayflyOptions } from "./transport.js";
export type {
  Artifact, RejectedArtifact, Task, TaskEvent, TaskFile, TaskInput, TaskPage, TaskReason, TaskRequest, TaskResult,
  TaskRow, TaskStatus, TaskStatusChange, TaskUsage,
} from "./types.js";
