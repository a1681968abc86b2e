import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Machine } from './machine.ts'
import { projectRoot } from './service.ts'
import type { Spread } from './statistics.ts'

export type Result = Readonly<{
  name: string
  title: string
  unit: string
  rounds: number
  baseline: Readonly<{ name: string; value: Spread }>
  candidates: readonly Readonly<{ name: string; value: Spread; ratio: Spread }>[]
  command: string
  date: string
  machine: Machine
}>

const jsonPath = join(projectRoot, 'docs/performance.json')
const pagePath = join(projectRoot, 'docs/performance.md')
const begin = '<!-- benchmarks: written by npm run bench -->'
const end = '<!-- end of benchmarks -->'

/** Puts results in the place of earlier ones of the same name, in docs/performance.json and in the table of docs/performance.md. */
export async function keepResults(fresh: readonly Result[]): Promise<void> {
  const known = await readFile(jsonPath, 'utf8').then(
    (text) => JSON.parse(text) as Result[],
    () => [],
  )
  const names = new Set(fresh.map(({ name }) => name))
  const all = [...known.filter(({ name }) => !names.has(name)), ...fresh].sort((a, b) =>
    a.name.localeCompare(b.name),
  )
  await writeFile(jsonPath, `${JSON.stringify(all, null, 2)}\n`)
  await writeFile(pagePath, withTable(await readPage(), all))
}

export function tableOf(results: readonly Result[]): string {
  const rows = results.flatMap((result) =>
    result.candidates.map((candidate) => [
      result.title,
      `${candidate.name}: ${show(candidate.value, result.unit)}`,
      `${result.baseline.name}: ${show(result.baseline.value, result.unit)}`,
      `**${round(candidate.ratio.median)}** (${round(candidate.ratio.low)} to ${round(candidate.ratio.high)})`,
      String(result.rounds),
      `${result.date}, ${describe(result.machine)}`,
      `\`${result.command}\``,
    ]),
  )
  const head = ['what', 'measured', 'baseline', 'ratio', 'rounds', 'when and where', 'command']
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

async function readPage(): Promise<string> {
  const empty = `# Performance\n\n${begin}\n${end}\n`
  return readFile(pagePath, 'utf8').catch(() => empty)
}

function withTable(page: string, results: readonly Result[]): string {
  const whole = page.includes(begin) ? page : `${page.trimEnd()}\n\n${begin}\n${end}\n`
  const [before = '', rest = ''] = whole.split(begin, 2)
  const after = rest.split(end, 2)[1] ?? '\n'
  return `${before}${begin}\n\n${tableOf(results)}\n\n${end}${after}`
}

function describe({ cores, node, postgres }: Machine): string {
  return `${cores} cores, Node ${node}, PostgreSQL ${postgres}`
}

function show({ median, low, high }: Spread, unit: string): string {
  return `${round(median)} ${unit} (${round(low)} to ${round(high)})`
}

/** Three figures say all that a benchmark knows. */
function round(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}
