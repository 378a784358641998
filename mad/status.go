package mad

import (
	"fmt"
	"strings"
)

// Status is a datagram's status: flags, a code for what is wrong with the
// request, and a byte that each class defines (IBTA 1, 13.4.7).
type Status uint16

const statusDirection Status = 0x8000

// The common part.
const (
	StatusOK           Status = 0
	StatusBusy         Status = 0x0001
	StatusRedirect     Status = 0x0002
	StatusBadVersion   Status = 0x0004 // base or class version, or a class that is not served
	StatusBadMethod    Status = 0x0008
	StatusBadAttribute Status = 0x000C // a method that the attribute does not have
	StatusBadField     Status = 0x001C
	statusCode         Status = 0x001C
)

// The class's part in answers of subnet administration (IBTA 1, 15.2.1).
const (
	StatusSANoResources        Status = 0x0100
	StatusSARequestInvalid     Status = 0x0200
	StatusSANoRecords          Status = 0x0300
	StatusSATooManyRecords     Status = 0x0400
	StatusSAInvalidGID         Status = 0x0500
	StatusSAInsufficientFields Status = 0x0600
	StatusSADenied             Status = 0x0700
	StatusSAPriority           Status = 0x0800
)

// String names what is set; a class's byte stays a number, as its meaning is
// the class's.
func (s Status) String() string {
	if s == StatusOK {
		return "ok"
	}
	var parts []string
	if s&StatusBusy != 0 {
		parts = append(parts, "busy")
	}
	if s&StatusRedirect != 0 {
		parts = append(parts, "redirected")
	}
	if text := s.code(); text != "" {
		parts = append(parts, text)
	}
	if rest := s &^ (StatusBusy | StatusRedirect | statusCode); rest != 0 {
		parts = append(parts, fmt.Sprintf("%#04x", uint16(rest)))
	}
	return strings.Join(parts, ", ")
}

func (s Status) code() string {
	switch s & statusCode {
	case 0:
		return ""
	case StatusBadVersion:
		return "version or class not supported"
	case StatusBadMethod:
		return "method not supported"
	case StatusBadAttribute:
		return "method and attribute not supported together"
	case StatusBadField:
		return "invalid value in attribute or modifier"
	default:
		return fmt.Sprintf("reserved code %d", s&statusCode>>2)
	}
}
