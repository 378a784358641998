package umad

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"heddle/mad"
)

// Where Linux shows its ports and their device files.
const (
	sysClass = "/sys/class"
	devDir   = "/dev/infiniband"
)

// ListDevices lists the ports for which the kernel has a umad device, ordered
// by device and port. A port that could not be read has its Fault set.
func ListDevices() ([]LinuxPort, error) { return listPorts(os.DirFS(sysClass)) }

// OpenLinux opens a port of the kernel's umad devices: "umad:mlx5_0/1" is port
// 1 of that device, "umad:mlx5_0" the best InfiniBand port of that device,
// "umad:" the best of all: one that is active, else one whose link is up. A
// port of Ethernet (RoCE) must be named in full, carries general services only,
// and is addressed by GID.
//
// Errors wrap ErrNoDevice, ErrNotInfiniBand and fs.ErrPermission.
func OpenLinux(spec string) (Device, error) {
	d, err := openLinux(os.DirFS(sysClass), devDir, spec)
	if err != nil {
		return nil, err
	}
	return d, nil
}

func openLinux(sys fs.FS, dev, spec string) (*linuxDevice, error) {
	name, err := parsePortName(spec)
	if err != nil {
		return nil, err
	}
	ports, err := listPorts(sys)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", name, err)
	}
	port, err := choosePort(ports, name)
	if err != nil {
		return nil, err
	}
	d := &linuxDevice{
		sys: sys, dev: dev, port: port,
		in: make([]byte, frameLen+mad.Size), agents: make(map[agentKey]*classAgents),
	}
	if d.file, err = openFile(filepath.Join(dev, port.Umad)); err != nil {
		return nil, d.named(withAdvice(err))
	}
	if err := d.prepare(); err != nil {
		return nil, errors.Join(d.named(err), d.file.Close())
	}
	return d, nil
}

// openFile opens a device file for the runtime's poller.
func openFile(path string) (*os.File, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err == nil {
			return os.NewFile(uintptr(fd), path), nil
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// withAdvice says what to do about a device file that does not open.
func withAdvice(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w (run as root, or as a member of the group that may use %s)", err, devDir)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w (is udev running?)", ErrNoDevice, err)
	default:
		return err
	}
}

// isGone tells whether an error says that the device was taken away.
func isGone(err error) bool {
	return errors.Is(err, unix.ENXIO) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EIO) || errors.Is(err, unix.EPIPE)
}

// linuxDevice is a Device of the kernel.
type linuxDevice struct {
	sys  fs.FS
	dev  string // the directory of device files
	port LinuxPort
	file *os.File
	in   []byte // of Receive alone

	mu     sync.Mutex // guards what follows
	closed bool
	out    []byte
	agents map[agentKey]*classAgents
	issm   *os.File
}

var _ Device = (*linuxDevice)(nil)

// prepare asks for the header with a P_Key index, which must be done first,
// and makes sure that a read waits in the poller, from where Close wakes it.
func (d *linuxDevice) prepare() error {
	if err := d.file.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	return d.ioctl(ioctlEnablePKey, nil)
}

// ioctl makes a request of the kernel, with an argument where b is not empty.
func (d *linuxDevice) ioctl(request uint, b []byte) error {
	conn, err := d.file.SyscallConn()
	if err != nil {
		return err
	}
	var errno unix.Errno
	err = conn.Control(func(fd uintptr) {
		_, _, errno = unix.Syscall(unix.SYS_IOCTL, fd, uintptr(request), uintptr(unsafe.Pointer(unsafe.SliceData(b))))
	})
	if err != nil {
		return err
	}
	if errno != 0 {
		return errno
	}
	return nil
}

// Features says that the kernel has timers and RMPP.
func (d *linuxDevice) Features() Features { return Features{Timers: true, RMPP: true} }

// Info reads sysfs.
func (d *linuxDevice) Info() (Info, error) {
	p := findPort(d.sys, d.port.Umad)
	p.read(d.sys)
	if p.Fault == nil && p.Name != d.port.Name {
		p.Fault = fmt.Errorf("%s now belongs to %s", d.port.Umad, p.Name)
	}
	if p.Fault != nil {
		return Info{}, fault(LinuxPort{Info: d.port.Info, Fault: p.Fault})
	}
	return p.Info, nil
}

// Register registers an agent with the kernel, one more where the class has
// some.
func (d *linuxDevice) Register(a Agent) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.named(d.register(a))
}

func (d *linuxDevice) register(a Agent) error {
	if d.closed {
		return net.ErrClosed
	}
	if err := a.validate(); err != nil {
		return err
	}
	key := agentKey{a.Class, a.OUI}
	if d.agents[key] != nil && len(a.Methods) == 0 {
		return nil
	}
	if a.Class.IsSMP() && !d.port.IsInfiniBand() {
		return fmt.Errorf("%w: %w (link layer %s): a subnet manager cares for InfiniBand only", ErrClassUnsupported, ErrNotInfiniBand, d.port.LinkLayer)
	}
	request := a.registration()
	if err := d.ioctl(ioctlRegister, request); err != nil {
		return registerError(d.port, err)
	}
	if d.agents[key] == nil {
		d.agents[key] = newClassAgents(agentID(request))
	}
	d.agents[key].add(a, agentID(request))
	return nil
}

// named puts the port's name before an error, but for net.ErrClosed.
func (d *linuxDevice) named(err error) error {
	switch {
	case err == nil || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed):
		return err
	case isGone(err):
		err = fmt.Errorf("%w: %w", ErrNoDevice, err)
	}
	return fmt.Errorf("%s%s: %w", linuxScheme, d.port.Name, err)
}

// registerError says what an error number means here. As Register validates
// its request, EINVAL is a class and method that another agent has.
func registerError(p LinuxPort, err error) error {
	switch {
	case errors.Is(err, unix.EINVAL):
		return fmt.Errorf("%w (is a subnet manager or another of its kind running on this port?): %w", ErrClassTaken, err)
	case errors.Is(err, unix.EPROTONOSUPPORT) && p.Capabilities&capIsSMDisabled != 0:
		return fmt.Errorf("%w: subnet management is disabled on this port, as on a plane of a larger one; open the device that has it: %w", ErrClassUnsupported, err)
	case errors.Is(err, unix.EPROTONOSUPPORT):
		return fmt.Errorf("%w: %w", ErrClassUnsupported, err)
	case errors.Is(err, unix.ENOMEM):
		return fmt.Errorf("no more than 32 agents: %w", err)
	default:
		return err
	}
}

// Close closes the device file, which unregisters all agents, and clears IsSM.
func (d *linuxDevice) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	return errors.Join(d.file.Close(), d.clearIsSM())
}
