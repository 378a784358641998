package umad

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"heddle/ib"
	"heddle/mad"
)

// What is read here is the tree that Linux shows in /sys/class, below the
// directories infiniband and infiniband_mad (Documentation/ABI/stable/
// sysfs-class-infiniband and Documentation/infiniband/user_mad.rst).
const (
	sysPorts   = "infiniband"
	sysDevices = "infiniband_mad"
	abiVersion = "5"

	linkInfiniBand = "InfiniBand"
	// maxAttribute is more than any file of sysfs holds.
	maxAttribute = 4096
	// maxPKeys is the length of the longest P_Key table.
	maxPKeys = 1 << 16
)

// LinuxPort is a port for which the kernel has a umad device.
type LinuxPort struct {
	Info
	// Umad and IsSM are the names of the device files below /dev/infiniband:
	// umad0, and issm0 or "".
	Umad, IsSM string
	// LinkLayer is "InfiniBand" or "Ethernet".
	LinkLayer string
	// Fault is what could not be read of the port; nil in a sound one.
	Fault error
}

// IsInfiniBand tells whether a subnet manager can care for the port.
func (p LinuxPort) IsInfiniBand() bool { return p.LinkLayer == linkInfiniBand }

// Bits of PortInfo:CapabilityMask (IBTA 1, 14.2.5.6).
const (
	capIsSM         = 1 << 1
	capIsSMDisabled = 1 << 10
)

// listPorts reads all ports with a umad device, ordered by device and port.
func listPorts(sys fs.FS) ([]LinuxPort, error) {
	entries, err := fs.ReadDir(sys, sysDevices)
	if err != nil {
		return nil, noUmad(sys, err)
	}
	abi, err := attribute(sys, path.Join(sysDevices, "abi_version"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDevice, err)
	}
	if abi != abiVersion {
		return nil, fmt.Errorf("the kernel's umad interface has version %.80q, want %s: %w", abi, abiVersion, ErrNoDevice)
	}
	issm := make(map[string]string)
	var ports []LinuxPort
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasPrefix(name, "umad") && !strings.HasPrefix(name, "issm") {
			continue
		}
		p := findPort(sys, name)
		if p.Umad == "" {
			issm[p.Name] = name
		} else {
			ports = append(ports, p)
		}
	}
	for i := range ports {
		ports[i].IsSM = issm[ports[i].Name]
		ports[i].read(sys)
	}
	slices.SortStableFunc(ports, compareLinuxPorts)
	return ports, nil
}

func compareLinuxPorts(a, b LinuxPort) int {
	if c := strings.Compare(a.Device, b.Device); c != 0 {
		return c
	}
	return int(a.Port) - int(b.Port)
}

// noUmad tells why there are no umad devices at all.
func noUmad(sys fs.FS, err error) error {
	devices, listErr := fs.ReadDir(sys, sysPorts)
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("list umad devices: %w", err)
	case listErr != nil || len(devices) == 0:
		return fmt.Errorf("this machine has no RDMA device, or its driver is not loaded: %w", ErrNoDevice)
	default:
		return fmt.Errorf("%s is there, but the kernel module ib_umad is not loaded (modprobe ib_umad): %w", devices[0].Name(), ErrNoDevice)
	}
}

// findPort reads which port a device file belongs to.
func findPort(sys fs.FS, file string) LinuxPort {
	p := LinuxPort{Info: Info{Name: file}}
	if strings.HasPrefix(file, "umad") {
		p.Umad = file
	}
	dir := path.Join(sysDevices, file)
	device, err := attribute(sys, path.Join(dir, "ibdev"))
	if err == nil && !isDeviceName(device) {
		err = fmt.Errorf("%s/ibdev: %.80q is no name of a device", dir, device)
	}
	if err != nil {
		p.Fault = err
		return p
	}
	number, err := numberIn(sys, path.Join(dir, "port"), 8)
	if err != nil {
		p.Fault = err
		return p
	}
	p.Device, p.Port = device, uint8(number)
	p.Name = fmt.Sprintf("%s/%d", device, number)
	return p
}

// isDeviceName tells whether a name is one element of a path, of a length that
// the kernel allows.
func isDeviceName(s string) bool {
	return fs.ValidPath(s) && path.Base(s) == s && s != "." && len(s) < 64
}

// read reads what sysfs shows of the port and its device.
func (p *LinuxPort) read(sys fs.FS) {
	if p.Fault != nil {
		return
	}
	r := sysReader{sys: sys, dir: path.Join(sysPorts, p.Device, "ports", strconv.Itoa(int(p.Port)))}
	p.LinkLayer = r.text("link_layer")
	p.LID = ib.LID(r.number("lid", 16))
	p.LMC = uint8(r.number("lid_mask_count", 8))
	p.SMLID = ib.LID(r.number("sm_lid", 16))
	p.SMSL = ib.SL(r.number("sm_sl", 8))
	p.Capabilities = uint32(r.number("cap_mask", 32))
	p.State = r.state()
	gid := r.gid()
	p.Prefix, p.PortGUID = gid.Prefix(), gid.GUID()
	p.PKeys = r.pkeys()
	r.dir = path.Join(sysPorts, p.Device)
	p.NodeGUID = r.guid("node_guid")
	p.Fault = r.err
}

// sysReader reads attributes of a directory and keeps the first error.
type sysReader struct {
	sys fs.FS
	dir string
	err error
}

func (r *sysReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *sysReader) text(name string) string {
	s, err := attribute(r.sys, path.Join(r.dir, name))
	if err != nil {
		r.fail(err)
	}
	return s
}

func (r *sysReader) number(name string, bits int) uint64 {
	n, err := numberIn(r.sys, path.Join(r.dir, name), bits)
	if err != nil {
		r.fail(err)
	}
	return n
}

// state reads "4: ACTIVE".
func (r *sysReader) state() mad.PortState {
	text := r.text("state")
	number, _, _ := strings.Cut(text, ":")
	n, err := strconv.ParseUint(number, 10, 8)
	if err != nil {
		r.fail(fmt.Errorf("%s/state: %.80q is no state of a port", r.dir, text))
	}
	return mad.PortState(n)
}

// gid reads the first GID.
func (r *sysReader) gid() ib.GID {
	gid, err := ib.ParseGID(r.text("gids/0"))
	if err != nil {
		r.fail(fmt.Errorf("%s/gids/0: %w", r.dir, err))
	}
	return gid
}

func (r *sysReader) guid(name string) ib.GUID {
	guid, err := ib.ParseGUID(r.text(name))
	if err != nil {
		r.fail(fmt.Errorf("%s/%s: %w", r.dir, name, err))
	}
	return guid
}

// pkeys reads the P_Key table up to its last entry that is in use.
func (r *sysReader) pkeys() []ib.PKey {
	var table []ib.PKey
	used := 0
	for i := range maxPKeys {
		n, err := numberIn(r.sys, path.Join(r.dir, "pkeys", strconv.Itoa(i)), 16)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			r.fail(err)
			break
		}
		table = append(table, ib.PKey(n))
		if n != 0 {
			used = i + 1
		}
	}
	return table[:used]
}

// numberIn reads a file that holds one number, decimal or with 0x.
func numberIn(sys fs.FS, name string, bits int) (uint64, error) {
	text, err := attribute(sys, name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(text, 0, bits)
	if err != nil {
		return 0, fmt.Errorf("%s: %.80q is no number of %d bits", name, text, bits)
	}
	return n, nil
}

// attribute reads a file of one line without the spaces around it.
func attribute(sys fs.FS, name string) (string, error) {
	f, err := sys.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxAttribute))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	return strings.TrimSpace(string(b)), nil
}
