import { randomId } from '../../src/client/http/random-id.ts'
import { formatFacts, type SqlFormat } from '../../src/contract/formats.ts'
import { addressOf } from '../api/request.ts'
import type { ResultSource } from './result.ts'

export type DownloadFormat = Readonly<{
  label: string
  /** `format` is one of the SQL endpoint; `copy` has the options of COPY. */
  format?: SqlFormat
  copy?: string
  extension: string
}>

export const downloadFormats: readonly DownloadFormat[] = [
  ...Object.entries(formatFacts).map(([format, { label, extension }]) => ({
    label,
    format: format as SqlFormat,
    extension,
  })),
  { label: 'CSV (COPY)', copy: '(format csv, header)', extension: 'csv' },
  { label: 'Text (COPY)', copy: '(format text)', extension: 'txt' },
  { label: 'Binary (COPY)', copy: '(format binary)', extension: 'dmp' },
]

/** How long to wait for an error. A download that has started loads nothing into the frame. */
const errorMs = 60_000

/**
 * Runs the statement again and lets the browser save the rows as they arrive. Posts a form into a hidden frame, so that
 * the token is in no URL. Resolves with the error message if the statement failed before its first row.
 */
export function startDownload(
  { text, params, credential }: ResultSource,
  { format, copy, extension }: DownloadFormat,
): Promise<string | undefined> {
  const statement = text.replace(/;\s*$/, '')
  const filename = `result.${extension}`
  const fields: Record<string, string> = copy
    ? { q: `copy (${statement}\n) to stdout ${copy}`, filename }
    : { q: text, format: format!, filename, ...(params && { params: JSON.stringify(params) }) }
  const address = addressOf(copy ? 'copyToByPost' : 'query', { parameters: { name: credential.username } })
  return post(address, credential.token === null ? fields : { ...fields, api_key: credential.token })
}

function post(address: string, fields: Readonly<Record<string, string>>): Promise<string | undefined> {
  const frame = document.createElement('iframe')
  frame.name = `download-${randomId()}`
  frame.hidden = true
  frame.title = 'Download'
  const form = document.createElement('form')
  form.hidden = true
  Object.assign(form, { method: 'post', action: address, target: frame.name })
  for (const [name, value] of Object.entries(fields)) {
    // A textarea keeps line breaks, an input does not.
    const area = document.createElement('textarea')
    Object.assign(area, { name, value })
    form.append(area)
  }
  document.body.append(frame, form)
  return new Promise((resolve) => {
    const finish = (error?: string) => {
      frame.remove()
      resolve(error)
    }
    const timer = setTimeout(finish, errorMs)
    form.submit()
    form.remove()
    frame.addEventListener('load', () => {
      const said = frame.contentDocument?.body?.textContent
      if (!said) return
      clearTimeout(timer)
      finish(messageIn(said))
    })
  })
}

function messageIn(text: string): string {
  try {
    return ([JSON.parse(text).error].flat()[0] as string | undefined) ?? text
  } catch {
    return text
  }
}
