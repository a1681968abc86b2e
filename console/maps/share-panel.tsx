import { useState } from 'preact/hooks'
import { navigate } from '../parts/browser/route.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { ConfirmedAct } from '../parts/controls/confirmed-act.tsx'
import { ErrorNotice } from '../parts/notice.tsx'
import { toast } from '../parts/toast.tsx'
import { sharedAddresses, withdrawMap } from './named-maps.ts'

type SharePanelProps = Readonly<{ name: string; token: string; runsAs: string | undefined }>

/** Texts to paste elsewhere. They need no API key, and stop working with the map. */
export function SharePanel({ name, token, runsAs }: SharePanelProps) {
  const [error, setError] = useState<unknown>(undefined)
  const { page, style, tiles, tileJson } = sharedAddresses(name, token)
  const withdraw = async () => {
    await withdrawMap(name)
    toast('The map is withdrawn')
    navigate('/maps')
  }
  return (
    <section class="panel stack" aria-label="Share">
      <div class="row">
        <h2 class="grow">Share</h2>
        <a class="button" href={page} target="_blank" rel="noreferrer">
          Open
        </a>
      </div>
      <p class="small muted">
        {token ? 'Everyone who has these texts' : 'Everyone'} sees the rows of this map
        {runsAs && `, as the key ${runsAs} reads them`}. No API key is in these texts.
      </p>
      <Shared label="Link" text={page} />
      <Shared
        label="Frame for a web page"
        text={`<iframe src="${page}" width="100%" height="480" frameborder="0" allowfullscreen></iframe>`}
      />
      <Shared label="MapLibre" text={`new maplibregl.Map({ container: 'map', style: '${style}' })`} />
      <Shared
        label="QGIS: Layer, Add Layer, Add Vector Tile Layer, New Generic Connection, URL"
        text={tiles}
      />
      <Shared label="QGIS: Style URL of that connection" text={style} />
      <Shared label="TileJSON, for other programs" text={tileJson} />
      <Shared
        label="deck.gl"
        text={`new deck.MVTLayer({ id: '${name}', data: '${tiles}', getFillColor: [11, 110, 110], getPointRadius: 4, pointRadiusUnits: 'pixels' })`}
      />
      {error !== undefined && <ErrorNotice error={error} />}
      <div class="row">
        <ConfirmedAct name={name} label="Withdraw" act="Withdraw" run={withdraw} failed={setError}>
          The map {name} and all its links and frames end. Your tables stay as they are.
        </ConfirmedAct>
      </div>
    </section>
  )
}

function Shared({ label, text }: Readonly<{ label: string; text: string }>) {
  return (
    <div>
      <div class="small muted">{label}</div>
      <CodeBlock label={label} text={text} />
    </div>
  )
}
