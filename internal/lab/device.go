package lab

import (
	"fmt"

	"heddle/verbs"
	"heddle/verbs/soft"
)

// Device is a software device on the host's port of the emulated subnet.
func (h *Host) Device() (verbs.Device, error) {
	open := func() (soft.Link, error) {
		port, err := h.Lab.Live.Port(h.Name, 1)
		if err != nil {
			return nil, fmt.Errorf("port of %s: %w", h.Name, err)
		}
		return soft.NewPortLink(port), nil
	}
	return soft.NewDevice(h.Name, open), nil
}
