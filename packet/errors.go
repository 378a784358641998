package packet

import (
	"errors"
	"fmt"
)

// What a packet can be refused for.
var (
	ErrShort   = errors.New("packet ends within a header")
	ErrVersion = errors.New("unknown version or next header")
	ErrOpcode  = errors.New("unknown opcode")
)

// The errors of each header are made once: a hostile peer costs no allocations.
var (
	errLRH       = fmt.Errorf("LRH: %w", ErrShort)
	errGRH       = fmt.Errorf("GRH: %w", ErrShort)
	errBTH       = fmt.Errorf("BTH: %w", ErrShort)
	errExtended  = fmt.Errorf("headers after the BTH: %w", ErrShort)
	errPadding   = fmt.Errorf("padding: %w", ErrShort)
	errEthernet  = fmt.Errorf("Ethernet: %w", ErrShort)
	errIPv4      = fmt.Errorf("IPv4: %w", ErrShort)
	errIPv6      = fmt.Errorf("IPv6: %w", ErrShort)
	errUDP       = fmt.Errorf("UDP: %w", ErrShort)
	errLRHFormat = fmt.Errorf("LRH: %w", ErrVersion)
	errGRHFormat = fmt.Errorf("GRH: %w", ErrVersion)
	errIPv4Form  = fmt.Errorf("IPv4: %w", ErrVersion)
	errIPv6Form  = fmt.Errorf("IPv6: %w", ErrVersion)
	errBTHFormat = fmt.Errorf("BTH: %w", ErrVersion)
)
