/** `attachment` with a file name for every client: in plain ASCII, and the true one by RFC 5987 if it differs. `isDrawing`: an SVG that we made ourselves. */
export function contentDisposition(filename: string, isDrawing = false): string {
  const name = isDrawing ? `${harmlessName(filename.slice(0, -'.svg'.length))}.svg` : harmlessName(filename)
  // Some browsers decode %2E and =?utf-8?Q?=2E?= in the plain name.
  const plain = name.replace(/[^\x20-\x7e]|[\\%?]/g, '_').replaceAll('"', "'")
  const header = `attachment; filename="${plain}"`
  return plain === name ? header : `${header}; filename*=UTF-8''${encodeExtended(name)}`
}

function encodeExtended(name: string): string {
  return [...Buffer.from(name)].map(encodeByte).join('')
}

function encodeByte(byte: number): string {
  const char = String.fromCharCode(byte)
  return /[A-Za-z0-9!#$&+.^_`|~-]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
}

/**
 * A file name that is safe to open: the author of a link chooses name and contents, and the download comes from our
 * address. Executable file types get the extension `.txt`.
 */
function harmlessName(filename: string): string {
  const name = withoutHiddenEnd(filename.replace(misleading, '_'))
  return programs.has(endingOf(name)) ? `${name}.txt` : name
}

/** Control characters, bidirectional controls, line ends, lone surrogates, and separators of folders or streams. */
const misleading = /^\.|[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\p{Cs}/:]/gu

/** Windows drops dots and spaces at the end. */
function withoutHiddenEnd(name: string): string {
  let end = name.length
  while (end > 0 && /[.\s]/.test(name[end - 1]!)) end -= 1
  return name.slice(0, end) || '_'
}

/** The extension as a browser may read it, which drops zero-width characters. */
const endingOf = (name: string) =>
  name
    .slice(name.lastIndexOf('.') + 1)
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .trim()
    .toLowerCase()

/** File types that a double click runs, installs or opens as a page, on some system. */
const programs = new Set(
  `ade adp app appimage application appref-ms appx appxbundle bas bash bat cab cgi chm cjs cmd com command cpl crt csh deb
  desktop diagcab dll dmg docm dotm drv dylib elf exe fileloc fish flatpakref fxp gadget hlp hta htm html htt img inetloc inf
  ini inx iqy iso isp isu jar jnlp job js jse ksh lnk library-ms mht mhtml mjs mobileconfig mpkg msc msh msh1 msh2 mshxml msi
  msix msixbundle msp mst ocx ops oqy osd out pcd pif pkg pl plg potm ppam ppsm pptm prf prg ps1 ps1xml ps2 ps2xml psc1
  psc2 psd1 psm1 py pyc pyo pyw pyz rb reg rgs rpm rqy run scf scpt scptd scr sct search-ms service settingcontent-ms sh
  shb shs shtml slk snap so svg svgz swf sys tcsh terminal theme themepack tool udf url vb vbe vbs vbscript vhd vhdx vxd wcx
  webloc website workflow ws wsc wsf wsh xap xbap xht xhtml xla xlam xll xlsm xltm xnk zsh`.split(/\s+/),
)
