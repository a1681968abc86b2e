import { formatAge, plural } from '../../parts/format.ts'
import { readKeptRows } from '../../result/kept-results.ts'
import type { EarlierResult } from '../../result/view-props.ts'
import { canBeCompared, type FormerResult, formerResults, normalText } from '../former-results.ts'
import type { Run } from '../run.ts'
import { runs } from '../runs.ts'
import { type KeptTab, keptTabs } from './kept-tabs.ts'

type Ran = Pick<Run, 'id' | 'text' | 'at'> & Readonly<{ bound?: { params: readonly unknown[] } | undefined }>
type Held = Ran & Readonly<{ key: string; rows: number; bytes: number; readAnswer: () => Promise<Blob> }>

/** The results of earlier runs of the same statement, the last one first. */
export function earlierResults(run: Run): readonly EarlierResult[] {
  if (!canBeCompared(run)) return []
  const wanted = normalText(run.text)
  const isEarlier = ({ text, at, id }: Ran) =>
    id !== run.id && at <= run.at && (at < run.at || id < run.id) && normalText(text) === wanted
  const open = runs.value.filter((each) => isEarlier(each) && canBeCompared(each)).map(ofRun)
  const former = formerResults.value.filter(isEarlier).map(ofFormer)
  const kept = keptTabs.value.map(ofKept).filter((each) => isEarlier(each) && !each.isPlan)
  return [...open, ...former, ...kept]
    .sort((a, b) => b.at - a.at || b.id - a.id)
    .map((each) => ({
      id: each.id,
      name: nameOf(each, run),
      rows: each.rows,
      bytes: each.bytes,
      readAnswer: each.readAnswer,
    }))
}

function nameOf({ id, at, rows, key, bound }: Held, run: Run): string {
  const isOther = JSON.stringify(bound?.params) !== JSON.stringify(run.bound?.params)
  const facts = [
    `result ${id}`,
    formatAge(at),
    plural(rows, 'row'),
    key,
    ...(isOther ? ['other values'] : []),
  ]
  return facts.join(' · ')
}

function ofRun({ id, text, at, bound, as, result }: Run): Held {
  const { rows, bytes } = result.progress.value
  return { id, text, at, bound, key: as.label, rows, bytes, readAnswer: () => result.ask('answer', {}) }
}

function ofFormer({ answer, as, ...former }: FormerResult): Held {
  return { ...former, key: as.label, readAnswer: async () => answer ?? new Blob() }
}

function ofKept({ id, about }: KeptTab): Held & Readonly<{ isPlan: boolean }> {
  const readAnswer = async () => {
    const rows = await readKeptRows(about.id)
    if (!rows) throw new Error('This result is no longer stored in this browser.')
    return new Blob([rows])
  }
  return { ...about, id, key: about.as, readAnswer }
}
