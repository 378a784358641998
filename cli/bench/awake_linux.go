package bench

import (
	"encoding/binary"
	"os"
)

// keepAwake has no CPU go into a state that takes time to leave, until stop is
// called: in a virtual machine that is one which the host has stopped. It needs
// root.
func keepAwake() (stop func() error, err error) {
	f, err := os.OpenFile("/dev/cpu_dma_latency", os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(binary.NativeEndian.AppendUint32(nil, 0)); err != nil {
		f.Close() //nolint:errcheck // the first error is told
		return nil, err
	}
	return f.Close, nil
}
