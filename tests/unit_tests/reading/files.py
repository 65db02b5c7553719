"""Files that tests read."""

from __future__ import annotations


def pdf(*pages: str, title: str = "") -> bytes:
    """Return a PDF with one line of text a page; "" for a page without text."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        f"<< /Title ({title}) >>",
    ]
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    for number, text in enumerate(pages):
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 144] "
            f"/Contents {5 + 2 * number} 0 R /Resources << /Font << /F1 {font} >> >> >>"
        )
        drawn = f"BT /F1 18 Tf 20 70 Td ({text}) Tj ET" if text else ""
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    out, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    start, size = len(out), len(objects) + 1
    out += f"xref\n0 {size}\n0000000000 65535 f \n"
    out += "".join(f"{place:010} 00000 n \n" for place in places)
    out += f"trailer\n<< /Size {size} /Root 1 0 R /Info 3 0 R >>\nstartxref\n{start}\n%%EOF\n"
    return out.encode("latin-1")
