import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline/promises'
import type { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { splitStatements } from '../../../sql-text/statements.ts'
import { InterruptedError } from '../../command-error.ts'
import { readNamedFile } from '../../named-file.ts'
import { printable } from '../../printable.ts'
import { tell } from '../../terminal.ts'
import { allTables, showTable } from '../account/tables.ts'
import type { UserCall } from '../command.ts'
import { explainFailure, wholeText } from '../explain.ts'
import { runToEnd } from '../jobs/follow-job.ts'
import { type OutputFormat, outputFormats } from '../output/formats.ts'
import type { Service } from '../service.ts'
import { writeTo } from '../whole-file.ts'
import { readHistory, remember } from './history.ts'
import { PromptSession } from './prompt-session.ts'
import { runStatement } from './run-statement.ts'
import { ToldStatements } from './told-statement.ts'

/** The interactive mode: a semicolon ends a statement, a backslash begins a command. */
export async function runInteractive(call: UserCall, service: Service, format: OutputFormat): Promise<void> {
  call.terminal.say(`cartage sql as ${service.user} at ${service.url}. \\? shows help, \\q quits.`)
  return new Shell(call, service, format).run()
}

const help = [
  'STATEMENT;    run a statement of one or more lines',
  '\\d [TABLE]    list tables, or columns of one    \\dt          list tables',
  '\\x            switch between table and line     \\format F    choose the format',
  '\\o [FILE]     write rows to a file, or here     \\timing      show times, or not',
  '\\e            edit the statement in $EDITOR     \\watch N     run it every N seconds',
  '\\job [SQL]    run the statement as a job        \\q           quit',
]

type ShellCommand = (shell: Shell, argument: string) => unknown

const shellCommands: Readonly<Record<string, ShellCommand>> = {
  '?': (shell) => shell.call.terminal.say(help.join('\n')),
  d: (shell, table) =>
    shell.guard((service) => (table ? showTable(shell.call, service, table) : shell.listTables(service))),
  dt: (shell) => shell.guard((service) => shell.listTables(service)),
  x: (shell) => shell.chooseFormat(shell.format === 'line' ? 'table' : 'line'),
  format: (shell, name) => shell.chooseFormat(name),
  timing: (shell) => shell.toggleTiming(),
  o: (shell, file) => shell.chooseFile(file),
  e: (shell) => shell.edit(),
  watch: (shell, seconds) => shell.watch(Number(seconds || 2)),
  job: (shell, statement) => shell.submitJob(statement),
}

/** The other commands refuse an argument. */
const withArgument: ReadonlySet<string> = new Set(['d', 'format', 'o', 'watch', 'job'])

class Shell {
  call: UserCall
  format: OutputFormat
  readonly #service: Service
  readonly #lines: Interface
  readonly #session = new PromptSession()
  readonly #told = new ToldStatements()
  #file: string | undefined
  /** The text since the last semicolon. */
  #typed = ''
  #last = ''
  #names: readonly string[] = []

  constructor(call: UserCall, service: Service, format: OutputFormat) {
    this.call = call
    this.format = format
    this.#service = service
    this.#lines = createInterface({
      input: process.stdin,
      output: process.stderr,
      terminal: true,
      historySize: 1_000,
      completer: (line: string) => this.#complete(line),
    })
  }

  async run(): Promise<void> {
    Object.assign(this.#lines, { history: await readHistory(this.call.config.stateFolder) })
    this.#lines.on('SIGINT', () => this.#startAnew())
    void this.#learnNames()
    this.#prompt()
    for await (const line of this.#lines) {
      await remember(this.call.config.stateFolder, line)
      if (!(await this.#take(line))) break
      this.#prompt()
    }
    this.#lines.close()
    this.#session.close()
    await this.#told.end(toldMs)
  }

  /** Returns false for \\q. */
  async #take(line: string): Promise<boolean> {
    const [, name, argument = ''] = /^\s*\\(\S+)\s*(.*?);?\s*$/.exec(line) ?? []
    if (name === 'q') return false
    if (name === undefined) await this.#takeSql(line)
    else if (!Object.hasOwn(shellCommands, name)) tell(`unknown command \\${name}: \\? shows help`)
    else if (argument && !withArgument.has(name)) tell(`\\${name} takes no argument: \\? shows help`)
    else await shellCommands[name]!(this, argument)
    return true
  }

  async #takeSql(line: string): Promise<void> {
    this.#typed += `${line}\n`
    const statements = splitStatements(this.#typed)
    const last = statements.at(-1)
    const isOpen = last !== undefined && !this.#typed.slice(last.to).includes(';')
    const whole = isOpen ? statements.slice(0, -1) : statements
    this.#typed = isOpen ? this.#typed.slice(last.from) : ''
    for (const { text } of whole) {
      this.#last = text
      if (!(await this.#runOne(text))) break
    }
  }

  #runOne(statement: string): Promise<boolean> {
    return this.guard((service) =>
      this.#told.run(service.client, statement, () =>
        writeTo(this.#file, (target) => this.#runInSession(service, statement, target)),
      ),
    )
  }

  #runInSession(service: Service, statement: string, target: Writable): Promise<void> {
    const { signal } = service
    return this.#session.use(service, (client) =>
      runStatement(this.call, { client, signal }, wholeText(statement), { format: this.format, target }),
    )
  }

  /** Runs `work` and prints its error. Ctrl-C ends the work, not the shell. */
  async guard(work: (service: Service) => Promise<unknown>): Promise<boolean> {
    const interrupted = new AbortController()
    const stop = () => interrupted.abort(new InterruptedError())
    process.on('SIGINT', stop)
    this.#lines.pause()
    process.stdin.setRawMode(false)
    try {
      await work({ ...this.#service, signal: interrupted.signal })
      return true
    } catch (error) {
      const failure = explainFailure(error)
      if (!failure) throw error
      tell(error instanceof InterruptedError ? 'cancelled' : failure.message)
      return false
    } finally {
      process.off('SIGINT', stop)
      process.stdin.setRawMode(true)
      this.#lines.resume()
    }
  }

  async listTables({ client }: Service): Promise<void> {
    const tables = await allTables(client)
    for (const { name, privacy } of tables)
      this.call.terminal.out.write(`${name}  ${privacy.toLowerCase()}\n`)
    if (tables.length === 0) this.call.terminal.say('No tables yet')
  }

  chooseFormat(name: string): void {
    const found = outputFormats.find((format) => format === name)
    if (found) this.format = found
    this.call.terminal.say(found ? `format ${found}` : `use one of ${outputFormats.join(', ')}`)
  }

  toggleTiming(): void {
    const isQuiet = !this.call.terminal.isQuiet
    const say = isQuiet ? () => undefined : (text: string) => tell(text)
    this.call = { ...this.call, terminal: { ...this.call.terminal, isQuiet, say } }
    tell(`timing is ${isQuiet ? 'off' : 'on'}`)
  }

  chooseFile(file: string): void {
    this.#file = file || undefined
  }

  async edit(): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'cartage-'))
    const file = join(folder, 'statement.sql')
    try {
      await writeFile(file, this.#typed || this.#last, { mode: 0o600 })
      this.#lines.pause()
      spawnSync('sh', ['-c', `${this.call.config.editor} "$1"`, 'sh', file], { stdio: 'inherit' })
      this.#typed = ''
      await this.#takeSql(await readNamedFile(file))
    } finally {
      await rm(folder, { recursive: true, force: true })
      this.#lines.resume()
    }
  }

  async watch(seconds: number): Promise<void> {
    const statement = this.#buffer()
    if (!statement || !(seconds > 0))
      return this.call.terminal.say('\\watch N repeats the last statement every N seconds')
    await this.guard(async (service) => {
      for (;;) {
        await this.#runInSession(service, statement, process.stdout)
        await sleep(seconds * 1000, undefined, { signal: service.signal }).catch(() =>
          service.signal.throwIfAborted(),
        )
      }
    })
  }

  async submitJob(given: string): Promise<void> {
    const statement = given || this.#buffer()
    if (!statement) return this.call.terminal.say('no statement yet: \\job SQL, or \\job after a statement')
    this.#typed = ''
    await this.guard(async (service) =>
      runToEnd(this.call, service, await service.client.jobs.create({ query: [{ query: statement }] })),
    )
  }

  #buffer = () => this.#typed.trim() || this.#last

  #startAnew(): void {
    this.#typed = ''
    process.stderr.write('\n')
    this.#lines.write(null, { ctrl: true, name: 'u' })
    this.#prompt()
  }

  #prompt(): void {
    this.#lines.setPrompt(
      `${printable(this.#service.user)}${this.#typed.trim() ? '-' : '='}${this.#session.sign}> `,
    )
    this.#lines.prompt()
  }

  /** Completes names of tables and columns, and common words of SQL. */
  #complete(line: string): [string[], string] {
    const word = /[\w.]*$/.exec(line)![0]
    const found = [...this.#names, ...words].filter((name) => name.startsWith(word.toLowerCase()))
    return [word === '' ? [] : [...new Set(found)], word]
  }

  async #learnNames(): Promise<void> {
    const rows = await this.#service.client.sql<{ name: string }>(namesSql).then(
      (answer) => answer.rows,
      () => [],
    )
    // Other names need quotes, and may contain control characters.
    this.#names = rows.map(({ name }) => name).filter((name) => /^[a-z_][a-z0-9_$]*$/.test(name))
  }
}

/** How long the end waits until the last statement is in the history. */
const toldMs = 1_000

const words = 'select insert update delete create table from where group by order limit join'.split(' ')

const namesSql = `select table_name as name from information_schema.columns where table_schema = pg_catalog.current_schema()
  union select column_name from information_schema.columns where table_schema = pg_catalog.current_schema() limit 5000`
