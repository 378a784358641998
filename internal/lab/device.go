package lab

import (
	"fmt"

	"heddle/verbs"
	"heddle/verbs/soft"
)

// Device is a software device on the host's port of the emulated subnet, the same
// one each time. Its port is given back with the lab.
func (h *Host) Device() (verbs.Device, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.device != nil {
		return h.device, nil
	}
	port, err := h.Lab.Live.Port(h.Name, 1)
	if err != nil {
		return nil, fmt.Errorf("port of %s: %w", h.Name, err)
	}
	h.Lab.keep(port)
	h.device = soft.OnPort(h.Name, port)
	return h.device, nil
}
