package cli

import (
	"encoding/json"
	"io"
)

// writeJSON writes a value on one line.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
