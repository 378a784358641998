package umad

import (
	"fmt"
	"strconv"
	"strings"

	"heddle/mad"
)

// linuxScheme starts the name of a port of the kernel's umad devices.
const linuxScheme = "umad:"

// portName is what "umad:DEVICE/PORT" names; the empty parts leave the choice.
type portName struct {
	device string
	port   uint8
}

func (n portName) String() string {
	if n.port == 0 {
		return linuxScheme + n.device
	}
	return fmt.Sprintf("%s%s/%d", linuxScheme, n.device, n.port)
}

// parsePortName reads "umad:", "umad:DEVICE" or "umad:DEVICE/PORT".
func parsePortName(spec string) (portName, error) {
	rest, ok := strings.CutPrefix(spec, linuxScheme)
	if !ok {
		return portName{}, fmt.Errorf("port %q does not start with %s", spec, linuxScheme)
	}
	device, number, hasPort := strings.Cut(rest, "/")
	if !hasPort {
		return portName{device: device}, nil
	}
	port, err := strconv.ParseUint(number, 10, 8)
	if err != nil || port == 0 || device == "" {
		return portName{}, fmt.Errorf("port %q is not umad:DEVICE/PORT, as umad:mlx5_0/1", spec)
	}
	return portName{device: device, port: uint8(port)}, nil
}

// choosePort picks the port that a name means: the very port where the name
// has both parts; else the best InfiniBand port of the device, or of all.
func choosePort(ports []LinuxPort, name portName) (LinuxPort, error) {
	mine := matching(ports, name)
	if len(mine) == 0 {
		return LinuxPort{}, fmt.Errorf("%v: %w; there is %s", name, ErrNoDevice, portList(ports))
	}
	if name.port != 0 {
		if err := fault(mine[0]); err != nil {
			return LinuxPort{}, err
		}
		return mine[0], nil
	}
	best, found := LinuxPort{}, false
	for _, p := range mine {
		if p.Fault == nil && p.IsInfiniBand() && (!found || worth(p) > worth(best)) {
			best, found = p, true
		}
	}
	switch {
	case !found:
		return LinuxPort{}, noInfiniBand(mine, name)
	case best.State <= mad.PortDown:
		return LinuxPort{}, fmt.Errorf("%v: no InfiniBand port has a link, look for the cable or name one: %w; there is %s", name, ErrNoDevice, portList(mine))
	}
	return best, nil
}

func matching(ports []LinuxPort, name portName) []LinuxPort {
	var mine []LinuxPort
	for _, p := range ports {
		if (name.device == "" || p.Device == name.device) && (name.port == 0 || p.Port == name.port) {
			mine = append(mine, p)
		}
	}
	return mine
}

// worth orders InfiniBand ports: a plane of a larger port, which has no subnet
// management of its own, comes after all others, then counts how far the port
// is up.
func worth(p LinuxPort) int {
	const whole = 16
	if p.Capabilities&capIsSMDisabled == 0 && p.State > mad.PortDown {
		return whole + int(p.State)
	}
	return int(p.State)
}

// noInfiniBand is the error of a choice among ports of Ethernet.
func noInfiniBand(ports []LinuxPort, name portName) error {
	for _, p := range ports {
		if p.Fault == nil {
			return fmt.Errorf("%v: %w; there is %s (name %s%s for general services over Ethernet)", name, ErrNotInfiniBand, portList(ports), linuxScheme, p.Name)
		}
	}
	return fault(ports[0])
}

// fault is the error of a port that sysfs does not show as it should.
func fault(p LinuxPort) error {
	if p.Fault == nil {
		return nil
	}
	return fmt.Errorf("%s%s: %w: %w", linuxScheme, p.Name, ErrNoDevice, p.Fault)
}

// portList names ports for a message.
func portList(ports []LinuxPort) string {
	if len(ports) == 0 {
		return "none"
	}
	names := make([]string, len(ports))
	for i, p := range ports {
		names[i] = fmt.Sprintf("%s (%s, %v)", p.Name, p.LinkLayer, p.State)
		if p.Fault != nil {
			names[i] = p.Name + " (unreadable)"
		}
	}
	return strings.Join(names, ", ")
}
