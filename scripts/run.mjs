import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** Ends the command: one sentence for the user, and the exit code. */
export class Failure extends Error {
  constructor(message, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

/** Runs a program to its end and returns its exit code. A signal to this process is passed on. */
export function run(program, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: root, stdio: 'inherit', ...options })
    const passOn = (signal) => child.kill(signal)
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, passOn)
    child.once('error', reject)
    child.once('close', (code, signal) => {
      for (const name of ['SIGINT', 'SIGTERM']) process.off(name, passOn)
      resolve(code ?? 128 + constants.signals[signal])
    })
  })
}

/** The same for a preparation step: its output is not that of the command. */
export async function runStep(program, args, options = {}) {
  const exitCode = await run(program, args, { stdio: ['inherit', process.stderr, 'inherit'], ...options })
  if (exitCode !== 0) throw new Failure(`${program} ${args.join(' ')} ended with ${exitCode}`, exitCode)
}

export function say(text) {
  process.stderr.write(`${text}\n`)
}

/** Runs the body of a script; a Failure becomes its sentence and its exit code. */
export async function runScript(body) {
  try {
    process.exitCode = await body()
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    // Ended by a signal, it has nothing to report.
    if (error.exitCode <= 128) say(`cartage: ${error.message}`)
    process.exitCode = error.exitCode
  }
}
