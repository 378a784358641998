package ibv_test

import (
	"encoding/json"
	"io"
	"sync/atomic"
	"unsafe"
)

// hello is what two processes tell each other, a line of JSON.
type hello struct {
	Endpoint string
	Addr     uint64
	RKey     uint32
}

func writeHello(w io.Writer, h hello) error { return json.NewEncoder(w).Encode(h) }

// readHello reads a line, and nothing after it.
func readHello(r io.Reader) (h hello, err error) {
	var line []byte
	for b := make([]byte, 1); len(line) == 0 || line[len(line)-1] != '\n'; {
		if _, err := io.ReadFull(r, b); err != nil {
			return h, err
		}
		line = append(line, b[0])
	}
	return h, json.Unmarshal(line, &h)
}

// loadByte reads a byte that a device writes: the word that it is in.
func loadByte(p *byte) byte {
	at := uintptr(unsafe.Pointer(p)) & 3
	word := atomic.LoadUint32((*uint32)(unsafe.Add(unsafe.Pointer(p), -int(at))))
	return byte(word >> (8 * at))
}
