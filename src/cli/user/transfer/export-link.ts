import type { SqlFormat } from '../../../contract/formats.ts'
import type { CommandResult } from '../../command.ts'
import { UsageError } from '../../command-error.ts'
import { textOf, wholeNumberOf } from '../../option-values.ts'
import type { UserCall } from '../command.ts'
import { at, wholeText } from '../explain.ts'
import type { Service } from '../service.ts'

/** Refuses options that would have no effect. */
export function checkLinkOptions({ values }: UserCall): void {
  const needy = ['expires-in', 'max-downloads'].find((name) => values[name] !== undefined)
  if (needy && !values.link) throw new UsageError(`--${needy} needs --link`)
  if (values.link && textOf(values, 'output') !== undefined)
    throw new UsageError('--link saves nothing: leave out -o, and use --format')
}

/** Makes a link to the rows and prints its address. */
export async function linkTo(
  { values, terminal }: UserCall,
  { client }: Service,
  query: string,
  format: SqlFormat,
): Promise<CommandResult> {
  const seconds = wholeNumberOf(values, 'expires-in')
  const downloads = wholeNumberOf(values, 'max-downloads')
  const options = {
    format,
    ...(seconds !== undefined && { expires_in: seconds }),
    ...(downloads !== undefined && { max_downloads: downloads }),
  }
  const link = await at(wholeText(query), () => client.exports.link(query, options))
  terminal.say(`works without a key until ${link.expires_at}`)
  return { document: link, lines: [link.url] }
}
