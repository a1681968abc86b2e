import { ogr2ogrLine } from '../../../src/file-import/import-plan.ts'
import { addressOf } from '../../api/request.ts'
import { session } from '../../api/session.ts'
import { hrefOf } from '../../parts/browser/route.ts'
import { CodeBlock } from '../../parts/code-block.tsx'

/** Shell commands that load a file which neither the browser nor the service can read. */
export function LoadByGdal({ file }: Readonly<{ file: File }>) {
  const { username } = session.value!
  return (
    <section class="panel stack" aria-labelledby="ogr2ogr">
      <h2 id="ogr2ogr">Load it with GDAL</h2>
      <p>
        <a href={hrefOf('/keys')}>Copy the token</a> of a key that can create tables, such as the Master key.
        Then run in a shell, paste the token and press Enter:
      </p>
      <CodeBlock label="Set CARTAGE_API_KEY" text="read -rs CARTAGE_API_KEY" />
      <p>In the same shell, in the folder of the file:</p>
      <CodeBlock
        label="Load it with ogr2ogr"
        text={ogr2ogrLine(file.name, { sqlUrl: addressOf('query'), username })}
      />
      <p class="muted small">
        ogr2ogr is part of GDAL. It may warn that the layer creation option GEOMETRY_NAME is not supported: it
        uses the option all the same. If the file names no coordinate system, add <code>-s_srs</code>, such as{' '}
        <code>-s_srs EPSG:25832</code>.
      </p>
    </section>
  )
}
