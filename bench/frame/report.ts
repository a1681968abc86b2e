import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { isTooNoisy, meetsAim } from './aim.ts'
import type { Result } from './entry.ts'
import { describeUse, limitOf } from './limit.ts'
import { figure } from './measure.ts'

const jsonFile = new URL('../../docs/internals/performance.json', import.meta.url)
const pages = [
  { file: new URL('../../docs/performance.md', import.meta.url), render: summary },
  { file: new URL('../../docs/internals/measurements.md', import.meta.url), render: measurements },
]
const [opening, closing] = ['<!-- results -->', '<!-- end of results -->']

/** Stores the results by name, as JSON and in the two pages made from it. */
export async function keep(results: readonly Result[]): Promise<void> {
  const known = existsSync(jsonFile) ? await readResults() : []
  const byName = new Map([...known, ...results].map((result) => [result.name, result]))
  const all = [...byName.values()].sort((a, b) => a.name.localeCompare(b.name))
  await writeFile(jsonFile, `${JSON.stringify(all, null, 2)}\n`)
  for (const { file, render } of pages) {
    const page = await readFile(file, 'utf8')
    const [before, after] = [page.split(opening)[0], page.split(closing)[1]]
    await writeFile(file, `${before}${opening}\n\n${render(all)}\n\n${closing}${after}`)
  }
}

export async function readResults(): Promise<readonly Result[]> {
  return JSON.parse(await readFile(jsonFile, 'utf8'))
}

/** For readers who ask how fast it is: one table per subject. */
export function summary(results: readonly Result[]): string {
  return [...subjects]
    .map(([prefix, title]) => [title, results.filter(({ name }) => name.split('-')[0] === prefix)] as const)
    .filter(([, some]) => some.length > 0)
    .map(([title, some]) =>
      [
        `## ${title}`,
        '',
        '| what | against | ratio | smallest to largest | aim | | limit |',
        '|---|---|---|---|---|---|---|',
        ...some.map(summaryRow),
      ].join('\n'),
    )
    .join('\n\n')
}

/** By the first word of the name. Every benchmark has one of these. */
export const subjects: ReadonlyMap<string, string> = new Map([
  ['query', 'SQL'],
  ['copy', 'Copy'],
  ['copyfrom', 'Copy in'],
  ['copyto', 'Copy out'],
  ['jobs', 'Jobs'],
  ['credential', 'Requests'],
  ['authenticated', 'Requests with a key'],
  ['key', 'Keys'],
  ['user', 'Users'],
  ['tables', 'Tables'],
  ['files', 'Files'],
  ['tiles', 'Vector tiles'],
  ['start', 'Start'],
  ['idle', 'Memory at rest'],
  ['cli', 'Command line'],
  ['console', 'The console in Chromium'],
  ['scale', '10,000 users and a million finished jobs'],
  ['scaling', 'A table over two hosts'],
])

function summaryRow(result: Result): string {
  const spread = `${ratioText(result.ratioMin)} to ${ratioText(result.ratioMax)}`
  const ratio = isTooNoisy(result) ? 'too noisy' : `**${ratioText(result.ratio)}**`
  return row([result.title, result.baseline, ratio, spread, result.aim, verdict(result), limitText(result)])
}

/** A small ratio needs a third decimal. */
function ratioText(ratio: number): string {
  return ratio.toFixed(ratio < 0.1 ? 3 : 2)
}

function verdict(result: Result): string {
  if (isTooNoisy(result)) return ''
  const isMet = meetsAim(result)
  return isMet === undefined ? '' : isMet ? 'met' : '**missed**'
}

const limitText = ({ limit, use }: Result) => limit ?? (use ? limitOf(use) : '')

/** For repeating the measurements: the command, what was measured, and on what machine. */
export function measurements(results: readonly Result[]): string {
  return [
    '| command | baseline’s median | our median | ratio | pairs | CPU and disk | besides | when and where |',
    '|---|---|---|---|---|---|---|---|',
    ...results.map((result) => {
      const where = `${result.date}, ${result.machine}`
      const use = result.use ? describeUse(result.use) : ''
      return row([`\`${result.command}\``, ...figures(result), result.pairs, use, result.notes, where])
    }),
  ].join('\n')
}

function figures(result: Result): string[] {
  if (isTooNoisy(result)) return ['', '', 'too noisy']
  const medians = [result.baselineMedian, result.oursMedian].map((value) => `${figure(value)} ${result.unit}`)
  return [...medians, result.ratio.toFixed(3)]
}

const row = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`
