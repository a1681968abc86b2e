import { useEffect, useState } from 'preact/hooks'
import { formatBytes, formatCount } from '../../parts/format.ts'
import { Notice } from '../../parts/notice.tsx'
import type { CellBytes, ImageFacts } from '../worker/cell-bytes.ts'

type ImageProps = Readonly<{ bytes: CellBytes['bytes']; image: ImageFacts; label: string }>

/** A picture in a cell. One that needs much memory is drawn on request. */
export function CellImage({ bytes, image, label }: ImageProps) {
  const { kind, width, height } = image
  const isSmall = width !== undefined && height !== undefined && width * height <= mostPixels
  const [isWanted, want] = useState(isSmall)
  const [isBroken, setBroken] = useState(false)
  const address = useAddressOf(bytes)
  const about = [
    kind.toUpperCase(),
    width === undefined ? 'of unknown size' : `${formatCount(width)} × ${formatCount(height ?? 0)} pixels`,
    formatBytes(bytes.size),
  ].join(' · ')
  return (
    <>
      <p class="small muted">{about}</p>
      {isBroken && (
        <Notice kind="warning">It begins like a {kind.toUpperCase()}, but the browser cannot draw it.</Notice>
      )}
      {!isWanted && (
        <Notice
          kind="warning"
          acts={
            <button type="button" onClick={() => want(true)}>
              Draw it
            </button>
          }
        >
          {width === undefined
            ? 'The header of this picture is damaged.'
            : `More than ${formatCount(mostPixels)} pixels take much memory.`}
        </Notice>
      )}
      {isWanted && !isBroken && address && (
        <img class="cell-image" src={address} alt={label} onError={() => setBroken(true)} />
      )}
    </>
  )
}

const mostPixels = 50_000_000

function useAddressOf(bytes: Blob): string | undefined {
  const [address, setAddress] = useState<string | undefined>(undefined)
  useEffect(() => {
    const made = URL.createObjectURL(bytes)
    setAddress(made)
    return () => URL.revokeObjectURL(made)
  }, [bytes])
  return address
}
