import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Identity } from '../../src/postgres/cluster/owned-files.ts'

export type Command = Readonly<{
  name: string
  program: string
  args: readonly string[]
  /** The folder it works in, with NAME.log. */
  folder: string
  env: NodeJS.ProcessEnv
  identity: Identity | undefined
}>

/** A program that is restarted a second after it has ended, as by systemd, until it is told to stay down. */
export class Daemon {
  readonly #command: Command
  #child: ChildProcess
  #isRevived = true
  #isRemoved = false
  #revival: Promise<void> = Promise.resolve()

  static async start(command: Command): Promise<Daemon> {
    return new Daemon(command, await spawnDaemon(command))
  }

  private constructor(command: Command, child: ChildProcess) {
    this.#command = command
    this.#child = child
    this.#watch()
  }

  get pid(): number {
    return this.#child.pid!
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  /** Ends it and its process group until it is started again. */
  async end(): Promise<void> {
    this.#isRevived = false
    await this.#revival
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    process.kill(-this.pid, 'SIGKILL')
    await exited
  }

  /** Ends it for good, whatever else wants to start it. */
  async remove(): Promise<void> {
    this.#isRemoved = true
    await this.end()
  }

  async startAgain(): Promise<void> {
    if (this.#isRemoved) return
    this.#isRevived = true
    this.#child = await spawnDaemon(this.#command)
    this.#watch()
  }

  #watch(): void {
    this.#child.once('exit', () => {
      if (this.#isRevived) this.#revival = this.#revive()
    })
  }

  async #revive(): Promise<void> {
    await sleep(revivalMs)
    if (this.#isRevived) await this.startAgain()
  }
}

const revivalMs = 1_000

async function spawnDaemon({ name, program, args, folder, env, identity }: Command): Promise<ChildProcess> {
  const log = await open(join(folder, `${name}.log`), 'a')
  try {
    // Ctrl-C in the terminal must not reach it: chaos ends it.
    const stdio = ['ignore', log.fd, log.fd] as const
    const child = spawn(program, args, { cwd: folder, env, stdio: [...stdio], detached: true, ...identity })
    await once(child, 'spawn')
    return child
  } finally {
    await log.close()
  }
}
