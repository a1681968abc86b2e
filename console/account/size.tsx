import { formatBytes, plural } from '../parts/format.ts'

type SizeProps = Readonly<{ quota_in_bytes: number; db_size_in_bytes: number; table_count: number }>

export function Size({ quota_in_bytes: quota, db_size_in_bytes: used, table_count }: SizeProps) {
  const tables = plural(table_count, 'table')
  if (quota <= 0) {
    return (
      <p>
        {formatBytes(used)} in {tables}, no quota
      </p>
    )
  }
  return (
    <>
      <p>
        {formatBytes(used)} of {formatBytes(quota)} in {tables}
        {used >= quota && <strong> The quota is used up: you cannot store more.</strong>}
      </p>
      <meter aria-label="Quota used" max={quota} high={quota * 0.9} value={Math.min(used, quota)} />
    </>
  )
}
