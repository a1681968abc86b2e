import { useEffect, useState } from 'preact/hooks'
import { credential } from '../../api/session.ts'
import { nameOf, type TableName } from '../../geo/rows-sql.ts'
import { formatCount } from '../../parts/format.ts'
import { Notice } from '../../parts/notice.tsx'
import { MapLoading } from '../map-loading.tsx'
import { Result } from '../result.ts'
import { ResultLook } from '../result-look.ts'
import MapView from './map-view.tsx'

const mostRows = 10_000

/** The first rows of a table, drawn in the browser: for a key that cannot get tiles. */
export function RowsMap({ schema, name }: TableName) {
  const text = `select * from ${nameOf({ schema, name })} limit ${mostRows}`
  const who = credential.value
  const [shown, show] = useState<Readonly<{ result: Result; look: ResultLook }> | undefined>(undefined)
  useEffect(() => {
    if (who?.kind !== 'key') return
    const result = new Result(text, who)
    show({ result, look: new ResultLook(result, { mostRows }) })
    return () => result.drop()
  }, [text, who])
  const isRead = shown !== undefined && shown.result.progress.value.columns.length > 0
  return (
    <>
      <Notice>
        This key has no access to maps, so this browser draws the first {formatCount(mostRows)} rows. A key
        with <code>maps</code> among its APIs shows all rows.
      </Notice>
      {isRead && who?.kind === 'key' ? (
        <MapView result={shown.result} look={shown.look} source={{ text, credential: who }} />
      ) : (
        <MapLoading />
      )}
    </>
  )
}
