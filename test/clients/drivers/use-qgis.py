"""Draws vector tiles and opens layers as a person does in QGIS. Reads what to open as JSON, writes what was seen as JSON."""

import json
import sys
from urllib.parse import quote

from qgis.core import (
    Qgis,
    QgsApplication,
    QgsCoordinateReferenceSystem,
    QgsMapRendererParallelJob,
    QgsMapSettings,
    QgsRectangle,
    QgsVectorLayer,
    QgsVectorTileLayer,
)
from qgis.PyQt.QtCore import QSize
from qgis.PyQt.QtGui import QColor

wanted = json.load(sys.stdin)
application = QgsApplication([], False)
application.initQgis()


def draw(layer, file):
    """The number of pixels that are not of the background, and the colours in the middle and beside it."""
    settings = QgsMapSettings()
    settings.setLayers([layer])
    settings.setDestinationCrs(QgsCoordinateReferenceSystem("EPSG:3857"))
    settings.setBackgroundColor(QColor(255, 255, 255))
    settings.setOutputSize(QSize(512, 512))
    settings.setExtent(QgsRectangle(*wanted["extent"]))
    job = QgsMapRendererParallelJob(settings)
    job.start()
    job.waitForFinished()
    image = job.renderedImage()
    image.save(file)
    white = QColor(255, 255, 255).rgb()
    pixels = sum(image.pixel(x, y) != white for x in range(512) for y in range(512))
    return {"pixels": pixels, "middle": image.pixel(256, 256), "beside": image.pixel(230, 230)}


def tiles(template, style, file):
    source = f"type=xyz&url={quote(template, safe='')}&zmin=0&zmax=14"
    if style:
        source += f"&styleUrl={quote(style, safe='')}"
    layer = QgsVectorTileLayer(source, "tiles")
    if not layer.isValid():
        return {"valid": False}
    message = layer.loadDefaultStyle()[0] if style else ""
    names = [each.layerName() for each in layer.renderer().styles()]
    return {"valid": True, "message": message, "layers": names, **draw(layer, file)}


def table(address):
    layer = QgsVectorLayer(address, "table", "ogr")
    if not layer.isValid():
        return {"valid": False}
    fields = [field.name() for field in layer.fields()]
    return {"valid": True, "features": len(list(layer.getFeatures())), "fields": fields}


seen = {"version": Qgis.QGIS_VERSION}
for name, each in wanted["open"].items():
    if "tiles" in each:
        seen[name] = tiles(each["tiles"], each.get("style"), f"{wanted['folder']}/{name}.png")
    else:
        seen[name] = table(each["table"])
print(json.dumps(seen))
sys.stdout.flush()
application.exitQgis()
