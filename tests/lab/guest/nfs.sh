# A server of NFS in this kernel, its disk ubda at /x, and its client in a network namespace of its
# own behind a veth pair. Version 4 needs a root that can be exported, as the guest's own cannot.
modprobe -a veth lockd nfsd nfs nfsv3 nfsv4 sch_tbf
# Nobody held a lock before: no client needs a minute and a half to claim it again.
echo 3 > /proc/sys/fs/nfs/nlm_timeout; echo 3 > /proc/sys/fs/nfs/nlm_grace_period
mkfs.ext4 -q /dev/ubda; mkdir -p /x; mount /dev/ubda /x
mount -t tmpfs t /srv; mkdir /srv/x; mount --bind /x /srv/x
ip link set lo up
ip netns add client; ip link add server0 type veth peer name client0 netns client
ip address add 10.9.0.1/24 dev server0; ip link set server0 up
ip -n client address add 10.9.0.2/24 dev client0; ip -n client link set client0 up
ip -n client link set lo up
mount -t nfsd nfsd /proc/fs/nfsd
mkdir -p /run/rpcbind /run/sendsigs.omit.d /var/lib/nfs/v4recovery /var/lib/nfs/rpc_pipefs
rpcbind -w
options='*(rw,no_root_squash,async,no_subtree_check,insecure'
printf '%s\n' "/srv $options,fsid=0)" "/srv/x $options)" "/x $options)" > /etc/exports
exportfs -ra
rpc.mountd
rpc.nfsd 8
echo Y > /proc/fs/nfsd/v4_end_grace
# Not by `ip netns exec`, which hides mounts.
client() { nsenter --net=/run/netns/client "$program" "$@"; }
