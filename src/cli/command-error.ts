import { explainFileError, isFileError } from './file-error.ts'

/** An error with a message for the person at the terminal, and the exit code of the command. */
export abstract class CommandError extends Error {
  abstract readonly exitCode: number
}

/** The command was called wrongly. */
export class UsageError extends CommandError {
  readonly exitCode = 2
}

/** The command could not be done. */
export class FailedError extends CommandError {
  readonly exitCode = 1
}

/** There is no key, or none that may be used here. */
export class NoKeyError extends CommandError {
  readonly exitCode = 4
}

/** The person pressed Ctrl-C, or the process got SIGTERM. */
export class InterruptedError extends CommandError {
  readonly exitCode = 130

  constructor() {
    super('interrupted')
  }
}

/** What a command that failed prints on stderr, and its exit code. */
export type CommandFailure = Readonly<{ message: string; exitCode: number }>

/** Undefined: `explainOther` does not know the error either, so it is a bug. */
export function failureOf(
  error: unknown,
  explainOther: (error: unknown) => CommandFailure | undefined,
): CommandFailure | undefined {
  if (error instanceof CommandError) return { message: error.message, exitCode: error.exitCode }
  if (isFileError(error)) return { message: explainFileError(error), exitCode: 1 }
  return explainOther(error)
}
