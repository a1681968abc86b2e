import { parseSize } from '../../src/contract/text/sizes.ts'
import { TextField } from './text-field.tsx'

type QuotaFieldProps = Readonly<{ label: string; value: string; change: (text: string) => void }>

export function QuotaField(props: QuotaFieldProps) {
  return (
    <TextField {...props} help="For example 500 MB or 10 GB. Empty: unlimited." placeholder="unlimited" />
  )
}

/** Parses a quota. Throws an error to show if it is not a size. */
export function readQuota(text: string): number {
  const bytes = parseSize(text.trim() || 'unlimited')
  if (bytes === undefined) throw new Error(`“${text}” is not a size. Examples: 500 MB, 10 GB, unlimited.`)
  return bytes
}
