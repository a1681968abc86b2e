import { parseSize } from '../../src/contract/text/sizes.ts'
import { TextField } from './text-field.tsx'

type QuotaFieldProps = Readonly<{ label: string; value: string; change: (text: string) => void }>

export function QuotaField(props: QuotaFieldProps) {
  return <TextField {...props} help="Such as 500 MB or 10 GB; unlimited if empty." placeholder="unlimited" />
}

/** What stands in a field for a quota. Throws what is to be read beside it. */
export function readQuota(text: string): number {
  const bytes = parseSize(text.trim() || 'unlimited')
  if (bytes === undefined) throw new Error(`“${text}” is no size. It can be 500 MB, 10 GB or unlimited.`)
  return bytes
}
