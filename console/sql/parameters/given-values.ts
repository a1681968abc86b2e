import { computed, signal } from '@preact/signals'
import { parametersOf } from '../../../src/sql-text/named-values.ts'
import type { StatementRange } from '../../../src/sql-text/statements.ts'
import { tell } from '../../parts/live.tsx'
import { toast } from '../../parts/toast.tsx'
import { changeDraft, currentDraft } from '../drafts.ts'
import { type Bound, bindValues, type GivenValue, labelsIn, nothingGiven, problemOf } from './bind.ts'

/** A statement to run, with its values if it has parameters. */
export type BoundRange = StatementRange & Readonly<{ bound?: Bound | undefined }>

const mostFields = 100

const labels = computed(() => labelsIn(currentDraft.value?.text ?? ''))

/** The parameters of the draft that have a field. */
export const shownLabels = computed(() => labels.value.slice(0, mostFields))
export const labelsLeftOut = computed(() => labels.value.length - shownLabels.value.length)

/** The labels of the fields for which a run was refused. */
export const marked = signal<ReadonlySet<string>>(new Set())

export const givenFor = (label: string): GivenValue => currentDraft.value?.values?.[label] ?? nothingGiven

/** Stored with the draft. */
export function giveValue(label: string, change: Partial<GivenValue>): void {
  const draft = currentDraft.peek()
  if (draft)
    changeDraft(draft.id, { values: { ...draft.values, [label]: { ...givenFor(label), ...change } } })
}

/** The statements with their values. Undefined if one has no value: then its field is marked. */
export function withValues(statements: readonly StatementRange[]): readonly BoundRange[] | undefined {
  const wanted = new Set(statements.flatMap(({ text }) => parametersOf(text).map(({ label }) => label)))
  const problems = [...wanted].filter((label) => problemOf(givenFor(label)) !== undefined)
  marked.value = new Set(problems)
  if (problems.length === 0) {
    const values = currentDraft.value?.values ?? {}
    return statements.map((one) => ({ ...one, bound: bindValues(one.text, values) }))
  }
  const [first = ''] = problems
  if (shownLabels.value.includes(first)) focusField(first)
  else toast(`${first} has no field: a draft has at most ${mostFields}, and none if it is very long`)
  tell(`Nothing runs: ${problems.join(', ')} has no value that can be sent`)
  return undefined
}

const focusField = (label: string) => document.getElementById(fieldId(label))?.focus()

export const fieldId = (label: string) => `value-of-${label}`
