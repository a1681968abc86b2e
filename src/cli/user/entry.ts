import { unknownVariables } from '../../config/config.ts'
import { print, runProgram } from '../run-program.ts'
import { tell } from '../terminal.ts'
import { complete } from './completion.ts'
import { userProgram } from './program.ts'

process.exitCode = await main(process.argv.slice(2))

async function main(words: readonly string[]): Promise<number> {
  const unknown = unknownVariables()
  if (unknown.length > 0) tell(`warning: unknown variables, ignored: ${unknown.join(', ')}`)
  const [first, ...typed] = words
  if (first !== '__complete') return runProgram(userProgram, words)
  return print(await complete(userProgram.help, typed).catch(() => []))
}
