import type { CopyAnswer } from '../../contract/documents.ts'
import type { UploadRecord, UploadRefusal } from '../../imports/resumable/upload-store.ts'
import { errorMembers } from '../middleware/error-response.ts'

export const uploadStates = ['open', 'loading', 'refused', 'unknown', 'done'] as const
export type UploadState = (typeof uploadStates)[number]

export type UploadDocument = Readonly<{
  id: string
  state: UploadState
  offset: number
  length: number
  expires_at: string
  import?: string
  answer?: CopyAnswer
  refusal?: UploadRefusal
}>

export function uploadDocument(record: UploadRecord, importPath: string | undefined): UploadDocument {
  const { id, received, length, expiresAt, state, answer, refusal } = record
  const isDone = state === 'done'
  return {
    id,
    state: stateOf(record),
    offset: received,
    length,
    expires_at: expiresAt.toISOString(),
    ...(isDone && importPath !== undefined && { import: importPath }),
    ...(isDone && answer && { answer }),
    ...(refusal && { refusal }),
  }
}

export function stateOf({ state, refusal, isLocked }: UploadRecord): UploadState {
  if (state === 'open' && refusal) return 'refused'
  // A load that no request has, and that could not be settled.
  return state === 'loading' && !isLocked ? 'unknown' : state
}

/** The error as it is answered, without the rows that it lists. */
export function refusalOf(error: unknown): UploadRefusal {
  const { rejected: _rejected, ...members } = errorMembers(error, { error: () => undefined })
  const whole = { ...members, code: members.code ?? 'internal' }
  if (JSON.stringify(whole).length <= mostLetters) return whole
  const { status, code, error: texts } = whole
  return { status, code, error: [texts[0]!.slice(0, mostLetters)] }
}

const mostLetters = 4_096
