import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import type { Result } from './entry.ts'
import { figure } from './measure.ts'

const jsonFile = new URL('../../docs/internals/performance.json', import.meta.url)
const markdownFile = new URL('../../docs/performance.md', import.meta.url)
const [opening, closing] = ['<!-- results -->', '<!-- end of results -->']

/** Keeps the results, each under its name, as JSON and as the table of docs/performance.md. */
export async function report(results: readonly Result[]): Promise<void> {
  const known: Result[] = existsSync(jsonFile) ? JSON.parse(await readFile(jsonFile, 'utf8')) : []
  const byName = new Map([...known, ...results].map((result) => [result.name, result]))
  const all = [...byName.values()].sort((a, b) => a.name.localeCompare(b.name))
  await writeFile(jsonFile, `${JSON.stringify(all, null, 2)}\n`)
  const page = await readFile(markdownFile, 'utf8')
  const [before, after] = [page.split(opening)[0], page.split(closing)[1]]
  await writeFile(markdownFile, `${before}${opening}\n\n${table(all)}\n\n${closing}${after}`)
  process.stdout.write(`${table(results)}\n`)
}

export function table(results: readonly Result[]): string {
  return [
    '| what | baseline | baseline’s median | ours | ratio (min to max) | aim | besides | made by |',
    '|---|---|---|---|---|---|---|---|',
    ...results.map((result) => {
      const ratio = `**${result.ratio.toFixed(3)}** (${result.ratioMin.toFixed(3)} to ${result.ratioMax.toFixed(3)}, ${result.pairs} pairs)`
      const made = `\`${result.command}\`, ${result.date}, ${result.machine}`
      const medians = [result.baselineMedian, result.oursMedian].map(
        (value) => `${figure(value)} ${result.unit}`,
      )
      return `| ${[result.title, result.baseline, ...medians, ratio, result.aim, result.notes, made].join(' | ')} |`
    }),
  ].join('\n')
}
