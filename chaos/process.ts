import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { program } from '../test/support/service/program.ts'

export type Role = 'serve' | 'serve --no-worker' | 'worker'

const root = fileURLToPath(new URL('..', import.meta.url))

/** A real process of the service, restarted whenever it has ended, unless told otherwise. */
export class CartageProcess {
  readonly role: Role
  /** Its output when it died of an uncaught exception. */
  readonly crashes: string[] = []
  readonly #environment: NodeJS.ProcessEnv
  isRevived = true
  #child: ChildProcess

  constructor(role: Role, environment: NodeJS.ProcessEnv) {
    this.role = role
    this.#environment = environment
    this.#child = this.#spawn()
  }

  get pid(): number {
    return this.#child.pid!
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  /** Ends it for good; returns the exit code. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    this.isRevived = false
    if (!this.isAlive) return this.#child.exitCode
    const exited = once(this.#child, 'exit')
    this.signal('SIGCONT')
    this.signal(signal)
    const [code] = (await exited) as [number | null]
    return code
  }

  #spawn(): ChildProcess {
    const child = spawn(process.execPath, [...program, ...this.role.split(' ')], {
      cwd: root,
      env: this.#environment,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let words = ''
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      words = (words + text).slice(-longestWords)
    })
    child.once('close', () => {
      // Node's last line after an uncaught exception.
      if (/^Node\.js v/m.test(words)) this.crashes.push(words)
      if (this.isRevived) this.#child = this.#spawn()
    })
    return child
  }
}

const longestWords = 4_096
