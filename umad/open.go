package umad

import (
	"fmt"
	"strings"
)

// scheme is one kind of device that Open knows.
type scheme struct {
	name string
	// form and about are for people.
	form, about string
	open        func(rest string) (Device, error)
}

// schemes are all of them.
func schemes() []scheme {
	return []scheme{
		{"ibsim", "ibsim:NAME/NODE", "a node of ibsim or of heddle emu", openIBSim},
		{"ibsim+udp", "ibsim+udp:HOST:PORT/NODE", "the same over UDP", openIBSimUDP},
		{"umad", "umad:DEVICE/PORT", "a port of this machine, through the Linux kernel", openUmad},
	}
}

// Open opens the device that a spec names:
//
//	ibsim:NAME/NODE           a node of a server on unix sockets, as ibsim or
//	                          heddle's emulator. NAME is the base of the sockets'
//	                          names, "" for $IBSIM_SOCKNAME or else "sim". NODE
//	                          is a node's ID, description or GUID, and may have
//	                          slashes; "" is the server's choice: of ibsim the
//	                          first node of its file, of heddle the first
//	                          adapter.
//	ibsim+udp:HOST:PORT/NODE  the same over UDP; the port may be missing
//	umad:DEVICE/PORT          a port of this machine, see OpenLinux
//
// The error of a device that is not there wraps ErrNoDevice.
func Open(spec string) (Device, error) {
	name, rest, _ := strings.Cut(spec, ":")
	for _, s := range schemes() {
		if s.name == name {
			return s.open(rest)
		}
	}
	return nil, fmt.Errorf("port %q is not of the form %s", spec, forms())
}

// forms lists what Open takes.
func forms() string {
	var forms []string
	for _, s := range schemes() {
		forms = append(forms, s.form)
	}
	return strings.Join(forms, " or ")
}

func openIBSim(rest string) (Device, error) {
	base, node, _ := strings.Cut(rest, "/")
	return asDevice(OpenIBSim(base, node))
}

func openIBSimUDP(rest string) (Device, error) {
	address, node, _ := strings.Cut(rest, "/")
	if address == "" {
		return nil, fmt.Errorf("port %q names no host", "ibsim+udp:"+rest)
	}
	return asDevice(OpenIBSimUDP(address, node))
}

func openUmad(rest string) (Device, error) { return OpenLinux(linuxScheme + rest) }

// asDevice keeps a nil pointer from becoming a Device.
func asDevice[D Device](d D, err error) (Device, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}
