import type { ChildProcess } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { type SandboxedCommand, type SandboxKind, sandboxCommandLine } from './sandbox.ts'
import { spawnPiped } from './spawn-piped.ts'

/** Why a program was ended: its time, its caller. undefined: it ended itself, or the system ended it. */
export type StopReason = 'time' | 'caller' | undefined

export type ConverterEnd = Readonly<{
  exitCode: number | null
  /** Such as SIGXCPU, when it used more than a limit. */
  signal: NodeJS.Signals | null
  stopped: StopReason
  /** Its first and last words; cut in the middle. */
  stderr: string
}>

export type RunningConverter = Readonly<{
  stdin: Writable
  stdout: Readable
  /** Resolves once the program and all it has started are gone. Never rejects. */
  ended: Promise<ConverterEnd>
  /** Ends it and all it has started. */
  kill: () => void
}>

/**
 * Starts a program in the sandbox: no environment, no descriptor but its standard ones, no network, one directory to
 * write. The caller writes or ends `stdin`, and reads `stdout` to its end or kills the program: it waits for its reader.
 */
export function runConverter(
  kind: SandboxKind,
  command: SandboxedCommand,
  signal?: AbortSignal,
): RunningConverter {
  const [program, ...args] = sandboxCommandLine(kind, command)
  const child = spawnPiped(program, args, { cwd: command.directory, env: {}, detached: true })
  const stop = new ProcessStop(child)
  // A program that does not read what it is sent is no error by itself: its end tells.
  child.stdin.on('error', () => undefined)
  const stderr = collectText(child.stderr)
  const timer =
    command.limits.timeMs > 0 ? setTimeout(() => stop.now('time'), command.limits.timeMs) : undefined
  const leave = () => stop.now('caller')
  if (signal?.aborted) leave()
  signal?.addEventListener('abort', leave, { once: true })
  const ended = endOf(child, stop).then((end) => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', leave)
    return { ...end, stopped: stop.reason, stderr: stderr() }
  })
  return { stdin: child.stdin, stdout: child.stdout, ended, kill: leave }
}

/** Throws if the program did not run at all: that is no fault of the file. */
export function requireSandbox({ exitCode, stderr }: Pick<ConverterEnd, 'exitCode' | 'stderr'>): void {
  if (exitCode !== 0 && stderr.startsWith('bwrap: '))
    throw new Error(`the sandbox cannot be made: ${stderr.slice(0, 500)}`)
}

/** Kills the whole process group, and stops waiting for pipes that another process still holds. */
class ProcessStop {
  readonly #child: ChildProcess
  reason: StopReason
  #isOver = false
  #timer: NodeJS.Timeout | undefined

  constructor(child: ChildProcess) {
    this.#child = child
  }

  now(reason: StopReason): void {
    if (this.#isOver) return
    this.reason ??= reason
    const { pid } = this.#child
    if (pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null) kill(-pid)
    this.#timer ??= setTimeout(() => this.#letGo(), letGoMs)
  }

  over(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }

  #letGo(): void {
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream?.destroy()
  }
}

function endOf(child: ChildProcess, stop: ProcessStop): Promise<Pick<ConverterEnd, 'exitCode' | 'signal'>> {
  return new Promise((resolve) => {
    const finish = (end: Pick<ConverterEnd, 'exitCode' | 'signal'>) => {
      stop.over()
      resolve(end)
    }
    child.once('error', () => {
      // It could not be started: no 'close' follows, and readers of its output would wait.
      if (child.pid === undefined) {
        child.stdout?.destroy()
        finish({ exitCode: 127, signal: null })
      }
    })
    child.once('close', (exitCode, signal) => finish({ exitCode, signal }))
  })
}

function kill(processGroup: number): void {
  try {
    process.kill(processGroup, 'SIGKILL')
  } catch {
    // It has just ended.
  }
}

/** Keeps the beginning and the end of a text. */
function collectText(stream: Readable): () => string {
  let first = ''
  let last = ''
  stream.setEncoding('utf8')
  stream.on('error', () => undefined)
  stream.on('data', (text: string) => {
    const room = keptLength - first.length
    first += text.slice(0, room)
    last = (last + text.slice(room)).slice(-keptLength)
  })
  return () => first + last
}

const keptLength = 16_384
/** A killed program is gone at once, unless the system is stuck. */
const letGoMs = 5_000
