import { stringifyExact } from '../client/exact-json.ts'
import { readVersion } from '../files/package-file.ts'
import {
  type Command,
  type CommandCall,
  type CommandResult,
  type CommandSection,
  findCommand,
  parseCall,
} from './command.ts'
import { type CommandFailure, FailedError, type UsageError } from './command-error.ts'
import { commandPage, type HelpPages, helpPage, overview, unknownCommand, wordsBeforeHelp } from './help.ts'
import type { OptionValues } from './option-values.ts'
import { visible } from './printable.ts'
import { tell } from './terminal.ts'

/** One of the two command lines: that of users, or that of the operator. */
export type Program<Call extends CommandCall> = Readonly<{
  /** The commands that this program runs. */
  section: CommandSection<Command<Call>>
  help: HelpPages
  openCall: (args: readonly string[], values: OptionValues) => Call
  /** Undefined if the error is a bug. */
  explain: (error: unknown) => CommandFailure | undefined
  /** The error for a command that exists but does not run here. */
  refuse?: (words: readonly string[]) => UsageError | undefined
}>

/** Runs the command that the words name and returns the exit code. */
export async function runProgram<Call extends CommandCall>(
  program: Program<Call>,
  words: readonly string[],
): Promise<number> {
  process.stdout.on('error', (error) => endWithOutput(program, error))
  try {
    return await run(program, words)
  } catch (error) {
    return complain(program, error)
  }
}

async function run<Call extends CommandCall>(
  program: Program<Call>,
  words: readonly string[],
): Promise<number> {
  const { section, help } = program
  const [first] = words
  if (first === undefined || first === '--help' || first === '-h') return print(overview(help))
  if (first === '--version') return print([readVersion()])
  const found = findCommand(section.commands, words)
  if (!found) return print(pageOfGroup(program, words))
  const { args, values } = parseCall(found.command, section.commonOptions, found.rest)
  if (values.help) return print(commandPage(section, found.command.name))
  const call = program.openCall(args, values)
  const result = (await found.command.run(call)) as CommandResult | undefined
  if (result) printResult(call, result)
  return result?.exitCode ?? 0
}

/** `job --help`, where `job` is no command but the first word of some. */
function pageOfGroup<Call extends CommandCall>({ help, refuse }: Program<Call>, words: readonly string[]) {
  const before = wordsBeforeHelp(words)
  const page = before && helpPage(help, before)
  if (page) return page
  throw refuse?.(words) ?? unknownCommand(help.sections, words)
}

/** The document with --json, else the lines. */
export function printResult(
  { terminal, values }: CommandCall,
  { document, lines = [] }: CommandResult,
): void {
  const isDocument = values.json === true && document !== undefined
  terminal.out.write(linesText(isDocument ? [stringifyExact(document)] : lines))
}

/** Prints lines to stdout before a terminal is opened; returns the exit code 0. */
export function print(lines: readonly string[]): number {
  const text = linesText(lines)
  process.stdout.write(process.stdout.isTTY ? visible(text) : text)
  return 0
}

const linesText = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('')

/** A reader such as `head` may close the pipe early: that is no error. A full disk is. */
function endWithOutput<Call extends CommandCall>(
  program: Program<Call>,
  { code, message }: NodeJS.ErrnoException,
): void {
  if (code === 'EPIPE') process.exit(0)
  process.exit(complain(program, new FailedError(`standard output cannot be written: ${message}`)))
}

function complain<Call extends CommandCall>(program: Program<Call>, error: unknown): number {
  const failure = program.explain(error)
  if (!failure) throw error
  tell(failure.message)
  return failure.exitCode
}
