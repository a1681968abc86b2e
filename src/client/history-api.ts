import type { HistoryFilter, HistoryList, NewStatement, ToldStatement } from '../contract/documents.ts'
import { maxHistoryText } from '../contract/limits.ts'
import { beginningOf } from '../contract/text/format.ts'
import { randomId } from './http/random-id.ts'
import { type Connection, sendForText } from './http/send.ts'
import { sendForJson } from './http/send-checked.ts'

/** `id`: a new one unless told. */
export type RanStatement = Omit<NewStatement, 'id'> & Readonly<{ id?: string }>

/** The beginning of a text that the service keeps. */
export function keptText(text: string) {
  const kept = beginningOf(text, maxHistoryText)
  return { text: kept, text_is_cut: kept.length < text.length }
}

/** The statements that people ran, kept by the service for each key. */
export function historyOf(connection: Connection, name: string) {
  return {
    /** The newest first. `kept_days` is 0 if the operator keeps none. */
    list: (query: HistoryFilter = {}) =>
      sendForJson<HistoryList>(connection, 'listHistory', { parameters: { name }, query }),
    /** Tells that a statement was run. Sent twice, it is kept once. */
    add: ({ id = randomUuid(), text, text_is_cut = false, ...statement }: RanStatement) => {
      const kept = keptText(text)
      return sendForJson<ToldStatement>(connection, 'tellHistory', {
        parameters: { name },
        json: { id, text: kept.text, text_is_cut: text_is_cut || kept.text_is_cut, ...statement },
        isRepeatable: true,
      })
    },
    delete: async (entry: string): Promise<void> => {
      await sendForText(connection, 'deleteFromHistory', { parameters: { name, entry } })
    },
    /** All in the history of your key; with `key` and the master key, all that ran with that key. */
    clear: async (query: Pick<HistoryFilter, 'key'> = {}): Promise<void> => {
      await sendForText(connection, 'clearHistory', { parameters: { name }, query })
    },
  }
}

/** 128 random bits in the form of a UUID, as `crypto.randomUUID` is missing on pages that came by plain HTTP. */
export const randomUuid = () => randomId().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
